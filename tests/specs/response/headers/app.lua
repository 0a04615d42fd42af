local app = require "sampan"

local function with(name, value)
  return function() return app.text("never", { headers = { [name] = value } }) end
end

app.get("/fine", with("X-Fine", "tab\tand é"))
app.get("/cr", with("X-A", "a\rb"))
app.get("/lf", with("X-A", "a\nInjected: yes"))
app.get("/crlf", with("X-A", "a\r\n\r\n<script>"))
app.get("/nul", with("X-A", "a\0b"))
app.get("/control", with("X-A", "a\27b"))
app.get("/name", with("X A", "b"))
app.get("/name/lf", with("X-A\nB", "b"))
app.get("/name/empty", with("", "b"))
app.get("/cookie", with("Set-Cookie", "a=1\r\nSet-Cookie: b=2"))
app.get("/location", function() return app.redirect("/a\r\nX-Evil: 1") end)
app.get("/length", function() return app.text("four", { headers = { ["Content-Length"] = "2" } }) end)
app.get("/chunked", function()
  return app.text("four", { headers = { ["Transfer-Encoding"] = "chunked", ["Keep-Alive"] = "timeout=5", Upgrade = "x" } })
end)
