local app = require "sampan"

-- What each call says that is refused.
local function refused(options)
  local ok, err = pcall(app.idempotency, options)
  return ok and "accepted" or tostring(type(err) == "table" and err.message or err)
end
local function user() return 1 end
local texts = {
  refused{},
  refused{ user = "ann" },
  refused{ user = user, hours = 0 },
  refused{ user = user, hours = 8761 },
  refused{ user = user, hours = 0 / 0 },
  refused{ user = user, required = "yes" },
  refused{ user = user, days = 1 },
  refused{ user = user, hours = 8760 },
}
app.get("/", function() return texts end)
app.use("/wrong", app.idempotency{ user = function() return { 1 } end })
app.post("/wrong", function() return "never" end)
-- Which paths it wraps of a route with a parameter is known with each request.
app.use("/stream/a", app.idempotency{ user = user })
app.post("/stream/:name", { stream = true }, function() return "read" end)
-- A route that only reads has no key.
app.use("/events", app.idempotency{ user = user })
app.get("/events", { stream = true }, function() return "events" end)
