// Notes: register, log in, write notes with tags and a picture, search them.   sampan dev examples/notes/app.js
import { app, crypto, db, files, first, redirect } from "sampan";
import { usersOnly } from "./accounts.js";
import "./thumbnails.js";

const NOTE = {
  title: { required: true, max: 200 },
  body: { required: true, max: 20000 },
  tags: { default: "", max: 200 },
};
// What is sent is read as it comes, so that a large picture takes little memory.
const UPLOAD = { stream: true, bodyBytesMax: "10 MB" };
// What pictures begin with: a client can call anything a picture.
const PICTURES = {
  "image/png": /^\x89PNG\r\n\x1a\n/, "image/jpeg": /^\xff\xd8\xff/, "image/gif": /^GIF8/, "image/webp": /^RIFF.{4}WEBP/s,
  "image/bmp": /^BM/,
};

async function pictureType(image) {
  const head = String.fromCharCode(...((await image.read()) ?? []).slice(0, 12));
  return Object.keys(PICTURES).find((kind) => PICTURES[kind].test(head));
}

function page(req, name, data, status = 200) {
  // A refresh is that of public/notes.js, which shows no messages.
  return req.render(name, { ...data, user: req.state.user, is_refresh: req.headers.has("x-refresh") }, status);
}

app.use(app.secureHeaders()); // with them a browser takes a picture for nothing else

// All that follows is for users.
app.use("/", usersOnly);
app.use("/notes/*", usersOnly);

// Open pages of a user follow what the user changes elsewhere: public/notes.js fetches them again.
const topic = (req) => `notes:${req.state.user.id}`;

app.sse("/notes/events", (req, events) => { events.subscribe(topic(req)); });

// Notes

// What a list shows of a note.
const CARD = "notes.id, title, created, image, has_thumbnail, substr(body, 1, 160) AS start, length(body) > 160 AS is_cut";

function search(user, q, tag) {
  if (q.trim()) {
    return db.query(`
      SELECT ${CARD} FROM (SELECT rowid AS found, rank FROM notes_index WHERE notes_index MATCH ?) JOIN notes ON id = found
      WHERE user_id = ? ORDER BY rank LIMIT 100`, [db.ftsQuery(q, { prefix: true }), user]);
  }
  if (tag) {
    return db.query(`
      SELECT ${CARD} FROM notes JOIN tags ON note_id = id
      WHERE tags.name = ? AND user_id = ? ORDER BY id DESC LIMIT 100`, [tag, user]);
  }
  return db.query(`SELECT ${CARD} FROM notes WHERE user_id = ? ORDER BY id DESC LIMIT 100`, [user]);
}

app.get("/", (req) => {
  const user = req.state.user.id;
  const q = first(req.query.q) ?? "";
  const tag = first(req.query.tag);
  const tags = db.query(`
    SELECT name, count(*) AS count FROM tags JOIN notes ON id = note_id WHERE user_id = ? GROUP BY name ORDER BY name`, [user]);
  return page(req, "list.html", { notes: search(user, q, tag), tags, q, tag });
});

// A note of the user, with its tags in one text.
function find(req) {
  const note = db.one(`
    SELECT id, title, body, image, image_type, has_thumbnail, no_thumbnail, created,
      (SELECT group_concat(name, ' ') FROM tags WHERE note_id = id) AS tags
    FROM notes WHERE id = ? AND user_id = ?`, [req.params.id, req.state.user.id]);
  if (!note) throw Object.assign(new Error("there is no such note"), { status: 404 });
  return note;
}

async function removePicture(note) {
  if (note.image) await files.remove(`images/${note.image}`);
  if (note.has_thumbnail) await files.remove(`thumbnails/${note.image}`);
}

// Writes a note with its tags, and its picture if one was sent.
async function save(req, note) {
  const form = await req.form();
  let { data, errors } = app.validate(form, NOTE);
  const image = first(form.image) || undefined; // a browser sends a part without a file too
  const kind = image?.read && await pictureType(image);
  if (image && !kind) errors = { ...errors, image: "must be PNG, JPEG, GIF, WebP or BMP" };
  if (errors) return page(req, "edit.html", { note, form, errors }, 422);
  const name = image && crypto.token();
  if (image) await image.save(`images/${name}`);
  const id = db.batch(() => {
    let id = note?.id;
    if (note) {
      db.exec("UPDATE notes SET title = ?, body = ? WHERE id = ?", [data.title, data.body, id]);
      db.exec("DELETE FROM tags WHERE note_id = ?", [id]);
    } else {
      id = db.exec("INSERT INTO notes (user_id, title, body) VALUES (?, ?, ?)",
        [req.state.user.id, data.title, data.body]).lastId;
    }
    for (const tag of data.tags.match(/[^\s,]+/g) ?? []) {
      db.exec("INSERT OR IGNORE INTO tags (note_id, name) VALUES (?, ?)", [id, tag.toLowerCase()]);
    }
    if (image) {
      db.exec("UPDATE notes SET image = ?, image_type = ?, has_thumbnail = 0, no_thumbnail = NULL WHERE id = ?",
        [name, kind, id]);
      app.enqueue("thumbnail", { image: name }); // is there if the note is
    }
    return id;
  });
  if (image && note) await removePicture(note);
  app.publish(topic(req), "saved");
  req.flash("notice", "The note was saved.");
  return redirect(`/notes/${id}`, 303);
}

app.get("/notes/new", (req) => page(req, "edit.html", { form: {}, errors: {} }));
app.post("/notes/new", UPLOAD, (req) => save(req));

app.get("/notes/:id", (req) => page(req, "note.html", { note: find(req) }));

app.get("/notes/:id/image", (req) => {
  const note = find(req);
  if (!note.image) throw Object.assign(new Error("the note has no picture"), { status: 404 });
  return app.file(note.image, { folder: "storage/images", type: note.image_type });
});

app.get("/notes/:id/thumbnail", (req) => {
  const note = find(req);
  if (!note.has_thumbnail) throw Object.assign(new Error("the note has no thumbnail"), { status: 404 });
  return app.file(note.image, { folder: "storage/thumbnails", type: "image/bmp" });
});

app.get("/notes/:id/edit", (req) => {
  const note = find(req);
  return page(req, "edit.html", { note, form: note, errors: {} });
});
app.post("/notes/:id/edit", UPLOAD, (req) => save(req, find(req)));

app.get("/notes/:id/delete", (req) => page(req, "delete.html", { note: find(req) }));

app.post("/notes/:id/delete", async (req) => {
  const note = find(req);
  db.exec("DELETE FROM notes WHERE id = ?", [note.id]);
  await removePicture(note);
  app.publish(topic(req), "deleted");
  req.flash("notice", "The note was deleted.");
  return redirect("/", 303);
});

// Errors

// What somebody can do about it. For all else there is a general text.
const ADVICE = {
  404: "It was deleted, or the address is not right.",
  410: "The link in the mail was used already, or is too old. Log in to get another.",
  413: "A picture may have 10 MB. Choose a smaller one.",
  429: "That was tried too often. Wait five minutes.",
};
const errorPage = (req, status) => page(req, "error.html", { status, advice: ADVICE[status] }, status);

app.notFound((req) => errorPage(req, 404));
app.onError((req, error) => errorPage(req, error.status ?? 500));
