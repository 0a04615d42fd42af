local app = require "sampan"

app.get("/plain", function(req) req:set_cookie("a", "1") return "set" end)
app.get("/signed", function(req) req:set_cookie("a", "1", { signed = true }) return "set" end)
app.get("/encrypted", function(req) return req:encrypted_cookie("a") or "none" end)
