local app = require "sampan"
local codec = app.codec
local BYTES = "\0\251\255a"

app.get("/encode", function()
  return {
    codec.base64_encode(BYTES), codec.base64url_encode(BYTES), codec.hex_encode(BYTES), codec.base64_encode(""),
    codec.base64_encode("ü"), codec.hex_encode(""),
  }
end)
app.get("/decode", function()
  return {
    codec.base64_decode("APv/YQ==") == BYTES, codec.base64_decode("APv/YQ") == BYTES, codec.base64url_decode("APv_YQ") == BYTES,
    codec.hex_decode("00FBff61") == BYTES, codec.hex_decode("") == "",
  }
end)
app.get("/bad", function()
  return {
    codec.base64_decode("APv_YQ==") == nil, codec.base64_decode("A") == nil, codec.base64_decode("APv/\nYQ==") == nil,
    codec.base64_decode("APv/YR==") == nil, codec.base64url_decode("APv/YQ") == nil, codec.hex_decode("abc") == nil,
    codec.hex_decode("zz") == nil, codec.hex_decode("+1") == nil,
  }
end)
