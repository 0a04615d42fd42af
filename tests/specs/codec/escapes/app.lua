local app = require "sampan"
local codec = app.codec

app.get("/url", function()
  return { codec.url_encode("a b&c=ü/?%~-._"), codec.url_decode("a%20b%26c%3d%C3%BC+%zz%4"), codec.url_decode("%ff") }
end)
app.get("/html", function() return { codec.html_escape([[<a href="x" title='y'>ü & z</a>]]) } end)
