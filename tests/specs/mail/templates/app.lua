local app = require "sampan"

local function source(name, data, locale)
  local text = app.mail.source { to = "ann@example.org", subject = "Hello", template = name, data = data, locale = locale }
  return app.text((text:gsub("\r\n", "\n")))
end

app.get("/both", function() return source("mails/both", { name = "<Ann>" }) end)
app.get("/html", function() return source("mails/html") end)
app.get("/text", function() return source("mails/text", { name = "<Ann>" }) end)
app.get("/locale/:locale", function(req) return source("mails/both", { name = "Ann" }, req.params.locale) end)
app.get("/none", function() return source("mails/none") end)
app.get("/missing", function() return source("mails/both") end)
