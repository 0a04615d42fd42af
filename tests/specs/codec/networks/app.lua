local app = require "sampan"
local codec = app.codec

local OFFICE = { "10.0.0.0/8", "2001:db8::/32", "192.0.2.7" }

app.get("/in", function(req)
  return {
    codec.ip_in("10.1.2.3", OFFICE), codec.ip_in("::ffff:10.1.2.3", OFFICE), codec.ip_in("2001:db8::1", OFFICE),
    codec.ip_in("192.0.2.7", OFFICE), codec.ip_in("unix:", { "unix:" }), codec.ip_in(req.ip, { "127.0.0.0/8", "::1" }),
  }
end)
app.get("/out", function()
  return {
    codec.ip_in("11.1.2.3", OFFICE), codec.ip_in("2001:db9::1", OFFICE), codec.ip_in("unix:", OFFICE),
    codec.ip_in("10.1.2.3", {}),
  }
end)
app.get("/bad", function() return codec.ip_in("192.0.2.7", { "192.0.2.7", "10.0.0.0/33" }) end)
app.get("/number", function() return codec.ip_in("192.0.2.7", { 10 }) end)
