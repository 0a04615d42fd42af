import { app } from "sampan";

const schema = { name: { required: true, max: 3 }, city: { required: true }, age: { type: "integer" } };
app.post("/", async (req) => app.validate(await req.json(), schema).errors);
