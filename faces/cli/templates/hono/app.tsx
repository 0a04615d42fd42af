import { Hono } from "hono";
import { db } from "sampan";

type Note = { id: number; text: string };

const app = new Hono();

const allNotes = () => db.query("SELECT id, text FROM notes ORDER BY id DESC") as Note[];

const Page = ({ notes }: { notes: Note[] }) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>{{name}}</title>
      <link rel="icon" href="data:," />
    </head>
    <body>
      <h1>{{name}}</h1>
      <form method="post" action="/notes">
        <label for="text">A note</label> <input id="text" name="text" required maxlength={200} autofocus />{" "}
        <button>Add</button>
      </form>
      <ul class="notes">
        {notes.map((note) => (
          <li>{note.text}</li>
        ))}
      </ul>
    </body>
  </html>
);

app.get("/", (c) => c.html(<Page notes={allNotes()} />));

app.get("/notes", (c) => c.json(allNotes()));

app.post("/notes", async (c) => {
  const { text } = await c.req.parseBody();
  if (typeof text !== "string" || text === "" || text.length > 200) {
    return c.text("a note has 1 to 200 characters", 422);
  }
  db.exec("INSERT INTO notes (text) VALUES (?)", [text]);
  return c.redirect("/", 303);
});

export default app;
