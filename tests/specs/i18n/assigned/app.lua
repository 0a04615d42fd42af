local app = require "sampan"

app.use("/user/*", function(req, next)
  req.locale = "fa"
  return next(req)
end)
app.get("/user/page", function(req) return req.locale .. " " .. req.text_direction end)
app.get("/changed", function(req)
  local before = req.locale .. " " .. req.text_direction
  req.locale = req.query.to
  return { before, req.locale .. " " .. req.text_direction, req:t("hello", { name = "Ann" }), req:format_number(1234.5) }
end)
app.get("/page", function(req)
  req.locale = req.query.to
  return req:render("page.html", {})
end)
app.get("/back", function(req)
  req.locale = "de"
  req.locale = "en-GB"
  return req.locale
end)
app.get("/refused", function(req)
  local found = {}
  for at, value in ipairs({ "xx", "", "d\0e", 1, {}, ("x"):rep(100000) }) do
    local ok, err = pcall(function() req.locale = value end)
    found[at] = ok and "taken" or #tostring(err) < 300 and tostring(err):find("locale", 1, true) ~= nil
  end
  local ok, err = pcall(function() req.locale = "xx" end)
  return { found, ok, tostring(err):match("there is[^\n]*"), req.locale }
end)
app.get("/thrown", function(req)
  req.locale = "xx"
end)
