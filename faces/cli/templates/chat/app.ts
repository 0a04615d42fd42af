import { app, db, first, redirect, render } from "sampan";

type Values = Record<string, any>;

const MESSAGE = { name: { required: true, max: 40 }, text: { required: true, max: 1000 } };

// The newest messages behind one, the oldest first.
const messages = (after: number) => db.query(`
  SELECT * FROM (SELECT id, name, text FROM messages WHERE id > ? ORDER BY id DESC LIMIT 100) ORDER BY id`, [after]);

function page(form: Values, errors: Values, status = 200): Response {
  return render("index.html", { messages: messages(0), form, errors }, status);
}

app.get("/", (req) => page({ name: req.session.name }, {}));

// Keeps a message. It is sent to all open pages once it is on disk.
app.post("/messages", async (req) => {
  const form = await req.form();
  const { data, errors } = req.validate(form, MESSAGE);
  if (errors) return page(form, errors, 422);
  req.session.name = data.name;
  app.publish("messages", db.one("INSERT INTO messages (name, text) VALUES (:name, :text) RETURNING id, name, text", data));
  return redirect("/", 303);
});

// A page gets what it missed, and then each new message.
app.ws("/live", {
  open(ws) {
    ws.subscribe("messages");
    for (const message of messages(Number(first(ws.req.query.after)) || 0)) ws.sendJson(message);
  },
});
