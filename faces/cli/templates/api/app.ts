import { app, db, json, text } from "sampan";

type Note = { id: number; text: string };

const NOTE = { text: { required: true, max: 200 } };

app.get("/", () => text("GET /notes, POST /notes, GET /notes/:id\n"));

app.get("/notes", () => db.query("SELECT id, text FROM notes ORDER BY id DESC"));

app.get("/notes/:id", (req) => {
  const note = db.one("SELECT id, text FROM notes WHERE id = ?", [req.params.id]) as Note | null;
  return note ?? json({ error: "no such note" }, 404);
});

app.post("/notes", async (req) => {
  const { data, errors } = req.validate(await req.json(), NOTE);
  if (errors) return json({ errors }, 422);
  return json({ id: db.exec("INSERT INTO notes (text) VALUES (:text)", data).lastId }, 201);
});
