local app = require "sampan"
local db = app.db

local MESSAGE = { name = { required = true, max = 40 }, text = { required = true, max = 1000 } }

-- The newest messages behind one, the oldest first.
local function messages(after)
  return db.query([[
    SELECT * FROM (SELECT id, name, text FROM messages WHERE id > ? ORDER BY id DESC LIMIT 100) ORDER BY id]], { after })
end

local function page(form, errors, status)
  return app.render("index.html", { messages = messages(0), form = form, errors = errors }, status)
end

app.get("/", function(req) return page({ name = req.session.name }, {}) end)

-- Keeps a message. It is sent to all open pages once it is on disk.
app.post("/messages", function(req)
  local form = req:form()
  local typed, errors = req:validate(form, MESSAGE)
  if errors then return page(form, errors, 422) end
  req.session.name = typed.name
  app.publish("messages", db.one("INSERT INTO messages (name, text) VALUES (:name, :text) RETURNING id, name, text", typed))
  return app.redirect("/", 303)
end)

-- A page gets what it missed, and then each new message.
app.ws("/live", {
  open = function(ws)
    ws:subscribe("messages")
    local after = tonumber(app.first(ws.req.query.after)) or 0
    for _, message in ipairs(messages(after)) do ws:send_json(message) end
  end,
})
