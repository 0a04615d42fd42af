import { app } from "sampan";

const address = { type: "object", required: true, fields: { city: { required: true }, zip: "integer" } };
const order = {
  address,
  lines: {
    type: "list", required: true, items: {
      type: "object", fields: { id: { type: "integer", required: true }, tags: { type: "list", items: { max: 3 } } },
    },
  },
  extra: "any",
};
const names = { all: { type: "list", items: "integer" } };

app.post("/order", async (req) => {
  const { data, errors } = app.validate(await req.json(), order);
  return errors ? { errors } : { data };
});
// An invoice's lines, as a form names them.
const lines = {
  type: "list", max: 3, items: { type: "object", fields: { text: { required: true }, count: "integer" } },
};
app.post("/invoice", async (req) => {
  const { data, errors } = app.validate(app.nested(await req.form()), { lines });
  return errors ? { errors } : { data };
});
// An array has no such values but holes.
app.get("/mixed", () => app.validate({ all: [1, , 2] }, names).errors ? "refused" : "taken");
app.post("/numbers", async (req) => ({ count: Object.keys(app.validate(await req.json(), names).errors).length }));
