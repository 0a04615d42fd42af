local app = require "sampan"

local function fault(options)
  local ok, err = pcall(app.cors, options)
  return ok and "taken" or tostring(err):gsub("^.-:%d+: ", "")
end
local faults = {
  fault{ origins = "*", credentials = true },
  fault{ origins = { "https://a.example", "*" }, credentials = true },
  fault{ origins = "null" },
  fault{ origins = { "https://a.example/" } },
  fault{ origins = { 1 } },
  fault{},
  fault{ origin = "*" },
  fault{ origins = "*", methods = "GET POST" },
  fault{ origins = "*", expose = { "x\r\ny" } },
  fault{ origins = "*", credentials = "yes" },
  fault{ origins = "*", max_age = -1 },
}
app.get("/faults", function() return faults end)
app.get("/late", function() app.use(app.cors{ origins = "*" }) end)
