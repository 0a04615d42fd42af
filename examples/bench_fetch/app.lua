-- Requests to another server, as measured by `cargo xtask bench fetch`. ORIGIN is that server's URL, and STREAMS that
-- of one with large bodies.
local app = require "sampan"

local ITEM = (app.env.get("ORIGIN") or "http://127.0.0.1:8081") .. "/item"
local STREAMS = app.env.get("STREAMS") or "http://127.0.0.1:8082"

app.get("/version", { version = "1.0" })

-- For a server that asks itself, where none is to be measured.
app.get("/item", { id = 7, name = "Ada Lovelace", tags = { "math", "engine" } })

-- The answer is passed on.
app.get("/passed", function() return app.fetch(ITEM) end)

-- The answer is parsed, and a part of it is sent.
app.get("/read", function()
  local item = app.fetch(ITEM):json()
  return { id = item.id, name = item.name }
end)

-- Large bodies are passed on as they come.
app.get("/download/:bytes", function(req)
  return app.fetch(STREAMS .. "/" .. req.params.bytes, { stream = true })
end)
app.post("/upload", { stream = true, body_bytes_max = "2 GB" }, function(req)
  return app.fetch(STREAMS, { body = req:chunks(), stream = true })
end)
