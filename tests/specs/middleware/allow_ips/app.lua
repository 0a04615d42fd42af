local app = require "sampan"

local function fault(options)
  local ok, err = pcall(app.allow_ips, options)
  return ok and "taken" or tostring(err):gsub("^.-:%d+: ", "")
end
local faults = {
  fault{},
  fault{ networks = {} },
  fault{ networks = { "10.0.0.0/33" } },
  fault{ networks = { "127.0.0.1", "office" } },
  fault{ networks = 10 },
  fault{ network = "10.0.0.0/8" },
}
app.use("/office/*", app.allow_ips{ networks = { "10.0.0.0/8", "2001:db8::/32", "192.0.2.7" } })
app.use("/one/*", app.allow_ips{ networks = "192.0.2.9" })
app.use("/mapped/*", app.allow_ips{ networks = "::ffff:192.168.0.0/112" })
app.use("/here/*", app.allow_ips{ networks = "127.0.0.1" })
app.on_error(function(_, err) return app.json({ message = err.message }, err.status) end)
app.get("/office/in", function(req) return req.ip end)
app.get("/office/fixed", { fixed = true })
app.get("/one/in", function(req) return req.ip end)
app.get("/mapped/in", function(req) return req.ip end)
app.get("/here/in", function(req) return req.ip end)
app.get("/faults", function() return faults end)
