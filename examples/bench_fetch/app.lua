-- Requests to another server, as measured by `cargo xtask bench fetch`. ORIGIN is that server's URL.
local app = require "sampan"

local ITEM = (app.env.get("ORIGIN") or "http://127.0.0.1:8081") .. "/item"

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
