-- Notes: register, log in, write notes with tags and a picture, search them.   sampan run examples/notes/app.lua
local app = require "sampan"
local db, files = app.db, app.files

local USER = {
  name = { required = true, max = 40 },
  password = { required = true, min = 8, max = 200, trim = false },
}
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

-- Entering and leaving

local function enter_page(req, is_new, form, errors)
  return page(req, "enter.html", { is_new = is_new, form = form, errors = errors }, next(errors) and 422)
end

-- A new session, so that one that somebody else knew is worth nothing after the login.
local function enter(req, user_id)
  req.session:regenerate()
  req.session.user_id = user_id
  return app.redirect("/", 303)
end

app.get("/register", function(req) return enter_page(req, true, {}, {}) end)

app.post("/register", function(req)
  local user, errors = app.validate(req:form(), USER)
  if errors then return enter_page(req, true, req:form(), errors) end
  user.password = app.password.hash(user.password)
  local ok, added = pcall(db.exec, "INSERT INTO users (name, password) VALUES (:name, :password)", user)
  if ok then return enter(req, added.last_id) end
  if added.code ~= "unique" then error(added, 0) end
  return enter_page(req, true, req:form(), { name = "is taken" })
end)

app.get("/login", function(req) return enter_page(req, false, {}, {}) end)

app.post("/login", function(req)
  local form = req:form()
  local user = db.one("SELECT id, password FROM users WHERE name = ?", { app.first(form.name) or "" })
  -- Without a user it takes as long, so that nobody can find out who is one.
  if app.password.verify(app.first(form.password) or "", user and user.password) then return enter(req, user.id) end
  return enter_page(req, false, form, { password = "does not fit the name" })
end)

app.post("/logout", function(req)
  req.session:clear()
  return app.redirect("/login", 303)
end)

app.use(app.secure_headers()) -- with them a browser takes a picture for nothing else

-- All that follows is for users.
local function users_only(req, next)
  local id = req.session.user_id
  req.state.user = id and db.one("SELECT id, name FROM users WHERE id = ?", { id })
  if not req.state.user then return app.redirect("/login", 303) end
  return next(req)
end
app.use("/", users_only)
app.use("/notes/*", users_only)

-- Open pages of a user follow what the user changes elsewhere: public/notes.js fetches them again.
local function topic(req) return "notes:" .. req.state.user.id end

app.sse("/notes/events", function(req, events) events:subscribe(topic(req)) end)

-- Notes

-- What a list shows of a note.
local CARD = "SELECT notes.id, title, created, substr(body, 1, 160) AS start, length(body) > 160 AS is_cut FROM "

app.get("/", function(req)
  local user = req.state.user.id
  local q, tag = app.first(req.query.q) or "", app.first(req.query.tag)
  local notes
  if q:find("%S") then
    notes = db.query(CARD .. [[
      (SELECT rowid AS found, rank FROM notes_index WHERE notes_index MATCH ?) JOIN notes ON id = found
      WHERE user_id = ? ORDER BY rank LIMIT 100]], { db.fts_query(q, { prefix = true }), user })
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
  return db.one([[
    SELECT id, title, body, image, created, (SELECT group_concat(name, ' ') FROM tags WHERE note_id = id) AS tags
    FROM notes WHERE id = ? AND user_id = ?]], { req.params.id, req.state.user.id })
    or error({ status = 404, message = "there is no such note" })
end

-- Writes a note with its tags, and its picture if one was sent.
local function save(req, note)
  local form = req:form()
  local typed, errors = app.validate(form, NOTE)
  local image = app.first(form.image)
  if image == "" then image = nil end -- a browser sends a part without a file too
  local kind = type(image) ~= "string" and image and picture_type(image)
  if image and not kind then
    errors = errors or {}
    errors.image = "must be PNG, JPEG, GIF or WebP"
  end
  if errors then return page(req, "edit.html", { note = note, form = form, errors = errors }, 422) end
  local id = db.batch(function()
    local id = note and note.id
    if note then
      db.exec("UPDATE notes SET title = ?, body = ? WHERE id = ?", { typed.title, typed.body, id })
      db.exec("DELETE FROM tags WHERE note_id = ?", { id })
    else
      id = db.exec("INSERT INTO notes (user_id, title, body) VALUES (?, ?, ?)",
        { req.state.user.id, typed.title, typed.body }).last_id
    end
    for tag in typed.tags:gmatch("[^%s,]+") do
      db.exec("INSERT OR IGNORE INTO tags (note_id, name) VALUES (?, ?)", { id, tag:lower() })
    end
    return id
  end)
  if image then
    image:save("images/" .. id)
    db.exec("UPDATE notes SET image = ? WHERE id = ?", { kind, id })
  end
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
  return app.file(tostring(note.id), { folder = "storage/images", type = note.image })
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
  if note.image then files.remove("images/" .. note.id) end
  app.publish(topic(req), "deleted")
  req:flash("notice", "The note was deleted.")
  return app.redirect("/", 303)
end)

-- Errors

-- What somebody can do about it. For all else there is a general text.
local ADVICE = { [404] = "It was deleted, or the address is not right.", [413] = "A picture may have 10 MB. Choose a smaller one." }
local function error_page(req, status)
  return page(req, "error.html", { status = status, advice = ADVICE[status] }, status)
end

app.not_found(function(req) return error_page(req, 404) end)
app.on_error(function(req, err) return error_page(req, err.status) end)
