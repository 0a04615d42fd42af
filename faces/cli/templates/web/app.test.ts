import { db, t } from "sampan";

t.test("a note is added", async () => {
  const res = await t.post("/notes", { form: { text: "Buy milk" } });
  t.equal(res.status, 303);
  t.equal(db.one("SELECT count(*) AS n FROM notes")?.n, 1);
  const { html } = await t.get("/");
  t.equal(html.text("ul.notes li"), "Buy milk");
});

t.test("a note needs a text", async () => {
  const { status, html } = await t.post("/notes", { form: { text: "" } });
  t.equal(status, 422);
  t.equal(html.count("p.error"), 1);
});
