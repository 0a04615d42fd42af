import { t } from "sampan";

t.test("a note is added", async () => {
  const res = await t.post("/notes", { form: { text: "Buy milk" } });
  t.equal(res.status, 303);
  t.equal((await t.get("/notes")).json, [{ id: 1, text: "Buy milk" }]);
  const { html } = await t.get("/");
  t.equal(html.text("ul.notes li"), "Buy milk");
});

t.test("a note needs a text", async () => {
  t.equal((await t.post("/notes", { form: { text: "" } })).status, 422);
});
