-- Notes: register, log in, write notes with tags and a picture, search them.   sampan dev examples/notes/app.lua
local app = require "sampan"
local accounts = require "accounts"
require "thumbnails"
local db, files = app.db, app.files

local NOTE = {
  title = { required = true, max = 200 },
  body = { required = true, max = 20000 },
  tags = { default = "", max = 200 },
}
-- What is sent is read as it comes, so that a large picture takes little memory.
local UPLOAD = { stream = true, body_bytes_max = "10 MB" }
-- What pictures begin with: a client can call anything a picture.
local PICTURES = {
  ["image/png"] = "^\137PNG\r\n\26\n", ["image/jpeg"] = "^\255\216\255", ["image/gif"] = "^GIF8", ["image/webp"] = "^RIFF....WEBP",
  ["image/bmp"] = "^BM",
}

local function picture_type(image)
  local head = image:read() or ""
  for kind, begin in pairs(PICTURES) do
    if head:find(begin) then return kind end
  end
end

local function page(req, name, data, status)
  data.user = req.state.user
  data.is_refresh = req.headers["x-refresh"] ~= nil -- by public/notes.js, which shows no messages
  return req:render(name, data, status)
end

app.use(app.secure_headers()) -- with them a browser takes a picture for nothing else

-- All that follows is for users.
app.use("/", accounts.users_only)
app.use("/notes/*", accounts.users_only)

-- Open pages of a user follow what the user changes elsewhere: public/notes.js fetches them again.
local function topic(req) return "notes:" .. req.state.user.id end

app.sse("/notes/events", function(req, events) events:subscribe(topic(req)) end)

-- Notes

-- What a list shows of a note.
local CARD = "SELECT notes.id, title, created, image, has_thumbnail, substr(body, 1, 160) AS start, length(body) > 160 AS is_cut FROM "

-- The notes with all words of a text, by how well they fit. Each database has its own full-text search.
local FOUND = ({
  sqlite = [[
    (SELECT rowid AS found, rank FROM notes_index WHERE notes_index MATCH ?) AS hits JOIN notes ON id = found
    WHERE user_id = ? ORDER BY rank LIMIT 100]],
  postgres = [[
    to_tsquery('simple', ?) AS words JOIN notes ON words @@ search
    WHERE user_id = ? ORDER BY ts_rank(search, words) DESC LIMIT 100]],
})[db.dialect()]

app.get("/", function(req)
  local user = req.state.user.id
  local q, tag = app.first(req.query.q) or "", app.first(req.query.tag)
  local notes
  if q:find("%S") then
    notes = db.query(CARD .. FOUND, { db.fts_query(q, { prefix = true }), user })
  elseif tag then
    notes = db.query(CARD .. [[
      notes JOIN tags ON note_id = id
      WHERE tags.name = ? AND user_id = ? ORDER BY id DESC LIMIT 100]], { tag, user })
  else
    notes = db.query(CARD .. "notes WHERE user_id = ? ORDER BY id DESC LIMIT 100", { user })
  end
  local tags = db.query([[
    SELECT name, count(*) AS count FROM tags JOIN notes ON id = note_id WHERE user_id = ? GROUP BY name ORDER BY name]], { user })
  return page(req, "list.html", { notes = notes, tags = tags, q = q, tag = tag })
end)

-- A note of the user, with its tags in one text.
local function find(req)
  local id = req.params.id:match("^%d+$")
  local note = id and #id < 16 and db.one([[
    SELECT id, title, body, image, image_type, has_thumbnail, no_thumbnail, created,
      (SELECT string_agg(name, ' ' ORDER BY name) FROM tags WHERE note_id = id) AS tags
    FROM notes WHERE id = ? AND user_id = ?]], { tonumber(id), req.state.user.id })
  return note or error({ status = 404, message = "there is no such note" })
end

local function remove_picture(note)
  if note.image then files.remove("images/" .. note.image) end
  if note.has_thumbnail == 1 then files.remove("thumbnails/" .. note.image) end
end

-- Writes a note with its tags, and its picture if one was sent.
local function save(req, note)
  local form = req:form()
  local typed, errors = app.validate(form, NOTE)
  local image = app.first(form.image)
  local is_list = image ~= form.image
  if image == "" then image = nil end -- a browser sends a part without a file too
  local kind = not is_list and type(image) ~= "string" and image and picture_type(image)
  if is_list or (image and not kind) then
    errors = errors or {}
    errors.image = is_list and "Choose one picture" or "The picture must be PNG, JPEG, GIF, WebP or BMP"
  end
  if errors then return page(req, "edit.html", { note = note, form = form, errors = errors }, 422) end
  local name = image and app.crypto.token()
  if image then image:save("images/" .. name) end
  local id = db.transaction(function(tx)
    local id = note and note.id
    if note then
      tx:exec("UPDATE notes SET title = ?, body = ? WHERE id = ?", { typed.title, typed.body, id })
      tx:exec("DELETE FROM tags WHERE note_id = ?", { id })
    else
      id = tx:exec("INSERT INTO notes (user_id, title, body) VALUES (?, ?, ?)",
        { req.state.user.id, typed.title, typed.body }).last_id
    end
    for tag in typed.tags:gmatch("[^%s%c,]+") do
      tx:exec("INSERT INTO tags (note_id, name) VALUES (?, ?) ON CONFLICT DO NOTHING", { id, tag:lower() })
    end
    if image then
      tx:exec("UPDATE notes SET image = ?, image_type = ?, has_thumbnail = 0, no_thumbnail = NULL WHERE id = ?",
        { name, kind, id })
      tx:enqueue("thumbnail", { image = name }) -- is there if the note is
    end
    return id
  end)
  if image and note then remove_picture(note) end
  app.publish(topic(req), "saved")
  req:flash("notice", "The note was saved.")
  return app.redirect("/notes/" .. id, 303)
end

app.get("/notes/new", function(req) return page(req, "edit.html", { form = {}, errors = {} }) end)
app.post("/notes/new", UPLOAD, function(req) return save(req) end)

app.get("/notes/:id", function(req) return page(req, "note.html", { note = find(req) }) end)

app.get("/notes/:id/image", function(req)
  local note = find(req)
  if not note.image then error({ status = 404, message = "the note has no picture" }) end
  return app.file(note.image, { folder = "storage/images", type = note.image_type })
end)

app.get("/notes/:id/thumbnail", function(req)
  local note = find(req)
  if note.has_thumbnail == 0 then error({ status = 404, message = "the note has no thumbnail" }) end
  return app.file(note.image, { folder = "storage/thumbnails", type = "image/bmp" })
end)

app.get("/notes/:id/edit", function(req)
  local note = find(req)
  return page(req, "edit.html", { note = note, form = note, errors = {} })
end)
app.post("/notes/:id/edit", UPLOAD, function(req) return save(req, find(req)) end)

app.get("/notes/:id/delete", function(req) return page(req, "delete.html", { note = find(req) }) end)

app.post("/notes/:id/delete", function(req)
  local note = find(req)
  db.exec("DELETE FROM notes WHERE id = ?", { note.id })
  remove_picture(note)
  app.publish(topic(req), "deleted")
  req:flash("notice", "The note was deleted.")
  return app.redirect("/", 303)
end)

-- Errors

-- What somebody can do about it. For all else there is a general text.
local ADVICE = {
  [404] = "It was deleted, or the address is not right.",
  [410] = "The link in the mail was used already, or is too old. Log in to get another.",
  [413] = "A picture may have 10 MB. Choose a smaller one.",
  [429] = "That was tried too often. Wait five minutes.",
}
local function error_page(req, status)
  return page(req, "error.html", { status = status, advice = ADVICE[status] }, status)
end

app.not_found(function(req) return error_page(req, 404) end)
app.on_error(function(req, err) return error_page(req, err.status) end)
