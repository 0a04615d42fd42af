local app = require "sampan"

app.use("/few", app.rate_limit{ limit = 2, per = 3600, shared = true, name = "few" })
app.use("/both", app.rate_limit{ limit = 5, per = 3600, shared = true })
app.use("/both", app.rate_limit{ limit = 1, per = 3600, key = "x-api-key", shared = true, name = "one" })
app.use("/value", app.rate_limit{ limit = 1, per = 3600, shared = true })
app.use("/told", app.rate_limit{ limit = 1, per = 3600, shared = true })
app.get("/few", function(req) req.session.n = (req.session.n or 0) + 1 return "in" end)
app.get("/both", function() return "both" end)
app.get("/value", { value = true })
app.get("/told", function() return "in" end)
app.on_error(function(req, err)
  return app.text(req.path .. ": " .. tostring(req.session.n), { status = err.status })
end)
app.get("/fault", function()
  local ok, err = pcall(app.rate_limit, { limit = 1, per = 1, shared = true, key = function() return "a" end })
  return { ok = ok, message = tostring(err):gsub("^.-:%d+: ", "") .. "" }
end)
