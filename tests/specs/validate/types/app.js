import { app } from "sampan";

const schemas = {
  string: { a: { type: "string", min: 2, max: 4 } },
  raw: { a: { trim: false, required: true } },
  exact: { a: { length: 3 } },
  integer: { a: { type: "integer", min: 1, max: 10 } },
  number: { a: { type: "number", min: 0.5 } },
  positive: { a: { type: "number", min: 0 } },
  large: { a: { type: "integer", max: 9007199254740992 } },
  comment: { a: { pattern: "(?x)a b # two letters" } },
  boolean: { a: "boolean" },
  date: { a: { type: "date", min: "2024-01-01", max: "2024-12-31" } },
  past: { a: { type: "date", max: "today" } },
  future: { a: { type: "datetime", min: "now" } },
  datetime: { a: "datetime" },
  zoned: { a: { type: "datetime", min: "2026-07-01T12:00", max: "2026-07-01T12:00:00Z", tz: "Europe/Berlin" } },
  zoned_past: { a: { type: "date", min: "2024-01-01", max: "today", tz: "Pacific/Niue" } },
  email: { a: "email" },
  url: { a: "url" },
  enum: { a: { enum: ["cat", "dog"] } },
  count: { a: { type: "integer", enum: [1, 2] } },
  list: { a: { type: "list", items: "integer", max: 3 } },
  default: { a: { type: "integer", default: 7 }, b: { default: "x" } },
  pattern: { a: { pattern: "\\d{10}" } },
  message: { a: { pattern: "\\d{10}", message: "must be 10 digits" } },
};

app.post("/:schema", async (req) => {
  const { data, errors } = app.validate(await req.form(), schemas[req.params.schema]);
  return errors ? { errors } : { data };
});
app.post("/json/:schema", async (req) => {
  const { data, errors } = app.validate(await req.json(), schemas[req.params.schema]);
  return errors ? { errors } : { data };
});
