// Lists are shown in pages of five.
import { first } from "sampan";
const ROWS = 5;

// Which part of a list of `count` rows a request asks for. A page that does not exist is the nearest that does.
export default function paging(req, count) {
  const last = Math.max(1, Math.ceil(count / ROWS));
  const asked = (first(req.query.page) ?? "1").match(/^\d+$/) ?? 1;
  const page = Math.min(Math.max(Number(asked), 1), last);
  return { page, last, limit: ROWS, offset: (page - 1) * ROWS };
}
