import { t } from "sampan";

t.test("a note is added and found", async () => {
  const { status, json } = await t.post("/notes", { json: { text: "Buy milk" } });
  t.equal(status, 201);
  t.equal((await t.get(`/notes/${json.id}`)).json, { id: json.id, text: "Buy milk" });
  t.equal((await t.get("/notes")).json.length, 1);
});

t.test("what is wrong is told", async () => {
  t.equal((await t.post("/notes", { json: {} })).status, 422);
  t.equal((await t.get("/notes/7")).status, 404);
});
