import { app, time } from "sampan";

const account = {
  name: { required: true, check: (name) => (name === "admin" ? "is taken" : undefined) },
  password: { required: true, trim: false },
  again: { check: (again, data) => again === data.password },
  codes: { type: "list", items: { type: "integer", check: (code) => code % 2 === 0 || "must be even" } },
};
const bad = { a: { check: () => 7 } };
const throws = { a: { check: () => { throw new Error("boom"); } } };
const waits = { a: { check: async () => { await time.sleep(0.001); } } };
const loops = { a: { check: () => { for (;;); } } };

app.post("/account", async (req) => {
  const { data, errors } = app.validate(await req.json(), account);
  return errors ? { errors } : { data };
});
app.post("/bad", async (req) => app.validate(await req.json(), bad));
app.post("/throws", async (req) => app.validate(await req.json(), throws));
app.post("/waits", async (req) => app.validate(await req.json(), waits));
app.post("/loops", async (req) => app.validate(await req.json(), loops));
