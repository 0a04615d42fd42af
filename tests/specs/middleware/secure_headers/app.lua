local app = require "sampan"

app.use(app.secure_headers())
app.use("/strict/*", app.secure_headers{
  csp = "default-src 'self'", frame_ancestors = "self", referrer_policy = "no-referrer", hsts = 60,
})
app.get("/", function() return app.html("<p>hi</p>") end)
app.get("/fixed", { fixed = true })
app.get("/strict/page", function() return "page" end)
app.get("/own", function() return app.text("own", { headers = { ["X-Frame-Options"] = "SAMEORIGIN" } }) end)
app.get("/refused", function()
  local ok, first = pcall(app.secure_headers, { csp = "default-src 'self'\r\nSet-Cookie: a=b" })
  local ok, second = pcall(app.secure_headers, { frame_ancestors = "https://a.example; script-src *" })
  local ok, third = pcall(app.secure_headers, { "csp" })
  local without_place = function(err) return (tostring(err):gsub("^.-:%d+: ", "")) end
  return { without_place(first), without_place(second), without_place(third) }
end)
