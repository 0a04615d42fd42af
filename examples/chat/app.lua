-- Chat: take a name, talk in rooms, see who is here and who is typing.   sampan run examples/chat/app.lua
local app = require "sampan"
local db = app.db

local NAME = { name = { required = true, max = 40 } }
local TEXT = { text = { required = true, max = 2000 } }
-- The messages that a page begins with, and the most that a socket catches up with.
local MESSAGES_MAX = 100
-- The most events of one socket within so many seconds.
local EVENTS_MAX, EVENTS_SECONDS = 30, 10

app.use(app.secure_headers { csp = "default-src 'self'" })

-- A name is all that the chat asks for. examples/notes has users with passwords.
local function enter_page(req, form, errors)
  return req:render("enter.html", { form = form, errors = errors }, next(errors) and 422)
end

app.get("/enter", function(req) return enter_page(req, {}, {}) end)

app.post("/enter", function(req)
  local typed, errors = app.validate(req:form(), NAME)
  if errors then return enter_page(req, req:form(), errors) end
  req.session.name = typed.name
  return app.redirect("/", 303)
end)

app.post("/leave", function(req)
  req.session:clear()
  return app.redirect("/enter", 303)
end)

-- All that follows is for those with a name: pages, forms and sockets.
local function named_only(req, next)
  req.state.name = req.session.name
  if not req.state.name then return app.redirect("/enter", 303) end
  return next(req)
end
app.use("/", named_only)
app.use("/rooms/*", named_only)

local function rooms() return db.query("SELECT id, name FROM rooms ORDER BY name LIMIT 200") end

local function rooms_page(req, form, errors)
  local data = { rooms = rooms(), name = req.state.name, form = form, errors = errors }
  return req:render("rooms.html", data, next(errors) and 422)
end

app.get("/", function(req) return rooms_page(req, {}, {}) end)

app.post("/rooms/new", function(req)
  local typed, errors = app.validate(req:form(), NAME)
  if errors then return rooms_page(req, req:form(), errors) end
  db.exec("INSERT INTO rooms (name) VALUES (:name) ON CONFLICT DO NOTHING", typed)
  return app.redirect("/rooms/" .. db.one("SELECT id FROM rooms WHERE name = :name", typed).id, 303)
end)

local function find(req)
  local id = #req.params.id < 16 and req.params.id:match("^%d+$") or 0
  return db.one("SELECT id, name FROM rooms WHERE id = ?", { id })
    or error({ status = 404, message = "there is no such room" })
end

-- The newest messages of a room behind one, the oldest first.
local function messages(room, after)
  return db.query([[
    SELECT * FROM (SELECT id, name, text, at FROM messages WHERE room_id = ? AND id > ? ORDER BY id DESC LIMIT ?) AS m
    ORDER BY id]], { room, after, MESSAGES_MAX })
end

local function topic(room) return "room:" .. room end

-- Keeps a message, and sends it to the room once it is on disk.
local function say(room, name, text)
  local typed = app.validate({ text = text }, TEXT)
  if not typed then return end
  local message = db.one("INSERT INTO messages (room_id, name, text) VALUES (?, ?, ?) RETURNING id, name, text, at",
    { room, name, typed.text })
  app.publish(topic(room), { message = message })
end

app.get("/rooms/:id", function(req)
  local room = find(req)
  return req:render("room.html", {
    room = room, rooms = rooms(), name = req.state.name, messages = messages(room.id, 0),
    messages_max = MESSAGES_MAX, people = app.presence(topic(room.id)),
  })
end)

-- Without a script in the browser a message comes as a form.
app.post("/rooms/:id", function(req)
  local room = find(req)
  say(room.id, req.state.name, app.first(req:form().text))
  return app.redirect("/rooms/" .. room.id, 303)
end)

app.ws("/rooms/:id/socket", {
  message_bytes_max = "8 KB",
  upgrade = function(req) return { room = find(req).id, name = req.state.name, events = 0, since = 0 } end,

  -- Subscribes first and then reads what was missed and who is here, so that nothing falls between the two.
  open = function(ws)
    local data = ws.data
    local here = topic(data.room)
    ws:subscribe(here, { presence = true })
    local missed = messages(data.room, tonumber(app.first(ws.req.query.after)) or 0)
    ws:join(here, { name = data.name })
    ws:send_json { missed = missed, people = app.json.array(app.presence(here)) }
  end,

  -- A text is a message. An empty one says that its sender is typing.
  message = function(ws, text, is_text)
    if not is_text then return ws:close(1003) end
    local data, now = ws.data, app.time.now()
    if now - data.since > EVENTS_SECONDS then data.events, data.since = 0, now end
    data.events = data.events + 1
    if data.events > EVENTS_MAX then return ws:close(4008, "too much at once") end
    if text ~= "" then return say(data.room, data.name, text) end
    app.publish(topic(data.room), { typing = data.name })
  end,
})

local function error_page(req, status) return req:render("error.html", { status = status }, status) end
app.not_found(function(req) return error_page(req, 404) end)
app.on_error(function(req, err) return error_page(req, err.status) end)
