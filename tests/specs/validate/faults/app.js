import { app } from "sampan";

const ring = { type: "object" };
ring.fields = { a: ring };
const cases = {
  unknown: () => app.validate({}, { a: { requird: true } }),
  ty: () => app.validate({}, { a: "text" }),
  useless: () => app.validate({}, { a: { type: "boolean", min: 1 } }),
  pattern: () => app.validate({}, { a: { pattern: "(" } }),
  splits: () => app.validate({}, { a: { pattern: "a)|(b" } }),
  bound: () => app.validate({}, { a: { type: "date", max: "tomorrow" } }),
  tz: () => app.validate({}, { a: { type: "date", tz: "Mars" } }),
  idle_tz: () => app.validate({}, { a: { tz: "UTC" } }),
  length: () => app.validate({}, { a: { max: -1 } }),
  enum: () => app.validate({}, { a: { enum: [] } }),
  fields: () => app.validate({}, { a: { type: "object" } }),
  check: () => app.validate({}, { a: { check: "x" } }),
  deep: () => app.validate({}, { a: ring }),
  nested: () => app.validate({}, { a: { type: "object", fields: { b: { min: "x" } } } }),
  no_schema: () => app.validate({}),
  no_data: () => app.validate(() => {}, {}),
};

app.get("/:case", (req) => {
  try {
    cases[req.params.case]();
    return "no error";
  } catch (error) {
    return error.message;
  }
});
