import { app, json } from "sampan";

const owner = {
  first_name: { required: true, max: 30 },
  last_name: { required: true, max: 30 },
  address: { required: true },
  city: { required: true },
  telephone: { required: true, pattern: "[0-9]{10}", message: "must be 10 digits" },
};

app.post("/owners", async (req) => {
  const form = await req.form();
  const { data, errors } = req.validate(form, owner);
  if (errors) return json({ typed: form, errors }, 422);
  return data;
});
