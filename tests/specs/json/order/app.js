import { app, json, text } from "sampan";

const value = () => {
  const o = { zeta: 1, alpha: { y: 1, x: 2, "": 3 }, "10": 4, "9": 5, alphabetical: 6, alphabetic: 7, "é": 8 };
  o.gone = 1;
  o.late = 9;
  delete o.gone;
  return o;
};
app.get("/returned", value);
app.get("/built", () => json(value()));
app.get("/encoded", () => text(json.encode(value())));
