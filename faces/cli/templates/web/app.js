import { app, db, redirect, render } from "sampan";

const NOTE = { text: { required: true, max: 200 } };

/**
 * @param {Record<string, any>} form what was typed
 * @param {Record<string, any>} errors a message for each wrong field
 * @param {number} [status]
 */
function page(form, errors, status = 200) {
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
