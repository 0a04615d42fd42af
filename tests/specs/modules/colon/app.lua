local app = require "sampan"

local function fault(call)
  local ok, err = pcall(call)
  return ok and "taken" or (tostring(err):gsub("^.-:%d+: ", ""))
end
app.get("/", function(req)
  return {
    fault(function() return app:validate({}, {}) end), fault(function() return app:render("x.html", {}) end),
    fault(function() return app.csv:encode({}) end), fault(function() return app.db:batch(print) end),
    fault(function() return app.db:query("SELECT 1") end), fault(function() return req.validate({}, {}) end),
    fault(function() return req.json({}) end),
  }
end)
app.get("/rows", function()
  local none = app.db.query("SELECT 1 AS one WHERE 0")
  return {
    rows = app.json.array(app.db.query("SELECT 1 AS one")), none = app.json.array(none), row = app.json.object(app.db.one("SELECT 2 AS two")),
    again = app.json.array(app.json.array({})),
  }
end)
