local app = require "sampan"

local function answer(name)
  return function(req) return { route = name, params = req.params } end
end
local function marking(mark)
  return function(req, next)
    local res = next(req)
    res.headers["x-seen"] = (res.headers["x-seen"] or "") .. mark
    return res
  end
end

app.get("/", answer("root of all"))
app.get("/shared", answer("shared"))
app.host("*.example.org", function(below)
  below.use(marking("b"))
  below.get("/", answer("root below"))
  below.get("/below/*rest", answer("below"))
  below.get("/fixed", "fixed below")
end)
app.host(":tenant.Example.org.", function(tenant)
  tenant.use(marking("t"))
  tenant.get("/", answer("root of tenant"))
  tenant.group("/users", function(users)
    users.get("/:id", { name = "user" }, answer("user of tenant"))
  end)
  tenant.get("/url", function() return app.url_for("user", { id = 7 }) end)
  tenant.get("/url/wrong", function(req)
    local ok, err = pcall(app.url_for, "user", { id = 7, tenant = req.params.tenant })
    return { refused = not ok and tostring(err):find("is a part of its host", 1, true) ~= nil }
  end)
end)
app.host("admin.example.org", function(admin)
  admin.use(marking("a"))
  admin.get("/", answer("root of admin"))
end)
app.host(":t.localhost", function(tenant) tenant.get("/", answer("here")) end)

-- Guards of hosts that have no routes of their own.
local users = { ann = "secret" }
app.host(":area.one.example", function(area) area.use(app.basic_auth{ users = users }) end)
app.host("*.many.example", function(area) area.use("/shared", app.basic_auth{ users = users }) end)
