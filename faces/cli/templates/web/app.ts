import { app, db, redirect, render } from "sampan";

type Values = Record<string, any>;

const NOTE = { text: { required: true, max: 200 } };

function page(form: Values, errors: Values, status = 200): Response {
  const notes = db.query("SELECT id, text FROM notes ORDER BY id DESC");
  return render("index.html", { notes, form, errors }, status);
}

app.get("/", () => page({}, {}));

app.post("/notes", async (req) => {
  const form = await req.form();
  const { data, errors } = req.validate(form, NOTE);
  if (errors) return page(form, errors, 422);
  db.exec("INSERT INTO notes (text) VALUES (:text)", data);
  return redirect("/", 303);
});
