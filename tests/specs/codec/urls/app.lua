local app = require "sampan"
local codec = app.codec

local function told(fn, ...)
  local ok, err = pcall(fn, ...)
  return ok and "taken" or (tostring(err):gsub("^.-:%d+: ", ""))
end

app.get("/parse", function()
  return {
    codec.url_parse("https://us%40er:p%2Fw@EXAMPLE.org:8443/a%20b/../c?x=1#top"), codec.url_parse("http://[2001:DB8::1]"),
    codec.url_parse("/path") == nil, codec.url_parse("http://a b/") == nil,
  }
end)
app.get("/build", function()
  return {
    codec.url_build({ scheme = "https", host = "example.org" }),
    codec.url_build({
      scheme = "https", username = "us@er", password = "p/w", host = "2001:db8::1", port = 8443, path = "/a b?", query = "x=1#",
      fragment = "top",
    }),
    codec.url_build(codec.url_parse("postgres://ann:a%25@db:5433/app?ssl=1")),
  }
end)
app.get("/query", function()
  local values = codec.query_parse("?tag=x&tag=y&q=a+b%26&first_name=Ann&empty=")
  return {
    values.tag[1], values.tag[2], values.q, values.first_name, values.empty, values.none == nil,
    codec.query_build(values), codec.query_build({ b = { 1, true }, a = 1.5, none = {} }),
  }
end)
app.get("/faults", function()
  return {
    told(codec.url_build, { host = "example.org" }), told(codec.url_build, { scheme = "https", host = "evil.org/" }),
    told(codec.url_build, { scheme = "https://", host = "example.org" }),
    told(codec.url_build, { scheme = "https", host = "example.org", port = 65536 }),
    told(codec.url_build, { scheme = "https", host = "example.org", path = 1 }),
    told(codec.url_build, { scheme = "https", host = "example.org", hash = "x" }),
    told(codec.query_build, { x = { y = 1 } }), told(codec.query_parse, ("x"):rep(65537)),
  }
end)
