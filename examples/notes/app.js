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

// The notes with all words of a text, by how well they fit. Each database has its own full-text search.
const FOUND = {
  sqlite: `
    (SELECT rowid AS found, rank FROM notes_index WHERE notes_index MATCH ?) AS hits JOIN notes ON id = found
    WHERE user_id = ? ORDER BY rank LIMIT 100`,
  postgres: `
    to_tsquery('simple', ?) AS words JOIN notes ON words @@ search
    WHERE user_id = ? ORDER BY ts_rank(search, words) DESC LIMIT 100`,
}[db.dialect()];

function search(user, q, tag) {
  if (q.trim()) return db.query(`SELECT ${CARD} FROM ${FOUND}`, [db.ftsQuery(q, { prefix: true }), user]);
  if (tag) {
    return db.query(`
      SELECT ${CARD} FROM notes JOIN tags ON note_id = id
      WHERE tags.name = ? AND user_id = ? ORDER BY id DESC LIMIT 100`, [tag, user]);
  }
  return db.query(`SELECT ${CARD} FROM notes WHERE user_id = ? ORDER BY id DESC LIMIT 100`, [user]);
}

app.get("/", async (req) => {
  const user = req.state.user.id;
  const q = first(req.query.q) ?? "";
  const tag = first(req.query.tag);
  const tags = await db.query(`
    SELECT name, count(*) AS count FROM tags JOIN notes ON id = note_id WHERE user_id = ? GROUP BY name ORDER BY name`, [user]);
  return page(req, "list.html", { notes: await search(user, q, tag), tags, q, tag });
});

// A note of the user, with its tags in one text.
async function find(req) {
  const [id] = req.params.id.match(/^\d{1,15}$/) ?? [0];
  const note = await db.one(`
    SELECT id, title, body, image, image_type, has_thumbnail, no_thumbnail, created,
      (SELECT string_agg(name, ' ' ORDER BY name) FROM tags WHERE note_id = id) AS tags
    FROM notes WHERE id = ? AND user_id = ?`, [Number(id), req.state.user.id]);
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
  const image = form.image || undefined; // a browser sends a part without a file too
  const kind = image?.read && await pictureType(image);
  if (Array.isArray(image)) errors = { ...errors, image: "Choose one picture" };
  else if (image && !kind) errors = { ...errors, image: "The picture must be PNG, JPEG, GIF, WebP or BMP" };
  if (errors) return page(req, "edit.html", { note, form, errors }, 422);
  const name = image && crypto.token();
  if (image) await image.save(`images/${name}`);
  const id = await db.transaction(async (tx) => {
    let id = note?.id;
    if (note) {
      await tx.exec("UPDATE notes SET title = ?, body = ? WHERE id = ?", [data.title, data.body, id]);
      await tx.exec("DELETE FROM tags WHERE note_id = ?", [id]);
    } else {
      const added = await tx.exec("INSERT INTO notes (user_id, title, body) VALUES (?, ?, ?)",
        [req.state.user.id, data.title, data.body]);
      id = added.lastId;
    }
    for (const tag of data.tags.match(/[^\s\x00-\x1f\x7f,]+/g) ?? []) {
      await tx.exec("INSERT INTO tags (note_id, name) VALUES (?, ?) ON CONFLICT DO NOTHING", [id, tag.toLowerCase()]);
    }
    if (image) {
      await tx.exec("UPDATE notes SET image = ?, image_type = ?, has_thumbnail = 0, no_thumbnail = NULL WHERE id = ?",
        [name, kind, id]);
      await tx.enqueue("thumbnail", { image: name }); // is there if the note is
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

app.get("/notes/:id", async (req) => page(req, "note.html", { note: await find(req) }));

app.get("/notes/:id/image", async (req) => {
  const note = await find(req);
  if (!note.image) throw Object.assign(new Error("the note has no picture"), { status: 404 });
  return app.file(note.image, { folder: "storage/images", type: note.image_type });
});

app.get("/notes/:id/thumbnail", async (req) => {
  const note = await find(req);
  if (!note.has_thumbnail) throw Object.assign(new Error("the note has no thumbnail"), { status: 404 });
  return app.file(note.image, { folder: "storage/thumbnails", type: "image/bmp" });
});

app.get("/notes/:id/edit", async (req) => {
  const note = await find(req);
  return page(req, "edit.html", { note, form: note, errors: {} });
});
app.post("/notes/:id/edit", UPLOAD, async (req) => save(req, await find(req)));

app.get("/notes/:id/delete", async (req) => page(req, "delete.html", { note: await find(req) }));

app.post("/notes/:id/delete", async (req) => {
  const note = await find(req);
  await db.exec("DELETE FROM notes WHERE id = ?", [note.id]);
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
