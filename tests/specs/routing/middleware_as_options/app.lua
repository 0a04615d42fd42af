local app = require "sampan"

local guard = app.basic_auth{ users = { ann = "secret" } }
local function handler() return "never" end

local function refused(declare, ...)
  local ok, err = pcall(declare, ...)
  assert(not ok and err:find("it takes one handler: declare what runs before it with app.use", 1, true), err)
end
refused(app.get, "/a", guard)
refused(app.get, "/b", handler, guard)
refused(app.sse, "/c", guard, handler)
refused(app.ws, "/d", guard)

app.get("/", guard, handler)
