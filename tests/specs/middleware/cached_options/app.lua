local app = require "sampan"

-- What each call says that is refused.
local function refused(options)
  local ok, err = pcall(app.cached, options)
  return ok and "accepted" or tostring(type(err) == "table" and err.message or err)
end
local texts = {
  refused{},
  refused{ seconds = 0 },
  refused{ seconds = 0 / 0 },
  refused{ seconds = 1e300 },
  refused{ seconds = "10" },
  refused{ seconds = 1, query = "page" },
  refused{ seconds = 1, query = { 1 } },
  refused{ seconds = 1, vary = { "Cookie" } },
  refused{ seconds = 1, vary = { "a\0" } },
  refused{ seconds = 1, ttl = 1 },
  refused{ seconds = 1, query = {} },
}
app.get("/", function() return texts end)
