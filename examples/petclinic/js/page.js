// A page of the clinic, with what all pages need.
import { render } from "sampan";

export default function page(req, name, data = {}, status = 200) {
  return render(name, { ...data, locale: "en", query: "", messages: [] }, status);
}
