local app = require "sampan"
local crypto = app.crypto

app.get("/", function()
  local a, b = crypto.random_bytes(16), crypto.random_bytes(16)
  local token, long = crypto.token(), crypto.token(64)
  return {
    lengths = { #a, #crypto.random_bytes(65536), #token, #long }, differ = a ~= b and token ~= crypto.token(),
    is_plain = token:find("^[%w_-]+$") ~= nil,
  }
end)
app.get("/few", function() return crypto.token(15) end)
app.get("/none", function() return #crypto.random_bytes(0) end)
app.get("/many", function() return #crypto.random_bytes(65537) end)
