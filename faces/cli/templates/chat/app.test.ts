import { t } from "sampan";

t.test("a message is kept and shown", async () => {
  const res = await t.post("/messages", { form: { name: "Ann", text: "Hello" } });
  t.equal(res.status, 303);
  const { html } = await t.get("/");
  t.equal(html.text("#messages b"), "Ann");
  t.equal(html.text("#messages span"), "Hello");
});

t.test("a message needs a text", async () => {
  const { status, html } = await t.post("/messages", { form: { name: "Ann", text: "" } });
  t.equal(status, 422);
  t.equal(html.count("p.error"), 1);
});
