local app = require "sampan"

app.use("/api/*", app.rate_limit{ limit = 3, per = 3600 })
app.use("/api/costly", app.rate_limit{ limit = 1, per = 3600, name = "costly" })
app.use("/login", app.rate_limit{ limit = 3, per = 3600 })
app.use("/by/key", app.rate_limit{ limit = 1, per = 3600, key = "x-api-key" })
app.get("/api/things", function() return "things" end)
app.get("/api/costly", { costly = true })
app.get("/login", function() return "login" end)
app.get("/by/key", function() return "keyed" end)
app.get("/soon", function() return "soon" end)
app.use("/soon", app.rate_limit{ limit = 1, per = 1 })

local function fault(options)
  local ok, err = pcall(app.rate_limit, options)
  return ok and "taken" or (tostring(err):gsub("^.-:%d+: ", ""))
end
app.get("/faults", function()
  return {
    fault{ limit = 1 }, fault{ limit = 0, per = 1 }, fault{ limit = 1, per = 86401 }, fault{ limit = 1.5, per = 1 },
    fault{ limit = 1, per = 1, key = "a b" }, fault{ limit = 1, per = 1, key = 7 }, fault{ limit = 1, per = 1, name = 'a"b' },
  }
end)
