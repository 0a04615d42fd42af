local app = require "sampan"
local codec = app.codec
local BYTES = "\0\251\255a"

app.get("/encode", function()
  return {
    codec.base64_encode(BYTES), codec.base64url_encode(BYTES), codec.hex_encode(BYTES), codec.base64_encode(""),
    codec.base64_encode("ü"), codec.hex_encode(""), codec.base32_encode(BYTES), codec.base32_encode("foobar"),
  }
end)
app.get("/decode", function()
  return {
    codec.base64_decode("APv/YQ==") == BYTES, codec.base64_decode("APv/YQ") == BYTES, codec.base64url_decode("APv_YQ") == BYTES,
    codec.hex_decode("00FBff61") == BYTES, codec.hex_decode("") == "",
    codec.base32_decode("AD576YI=") == BYTES, codec.base32_decode("ad576yi") == BYTES, codec.base32_decode("") == "",
  }
end)
app.get("/bad", function()
  return {
    codec.base64_decode("APv_YQ==") == nil, codec.base64_decode("A") == nil, codec.base64_decode("APv/\nYQ==") == nil,
    codec.base64_decode("APv/YR==") == nil, codec.base64url_decode("APv/YQ") == nil, codec.hex_decode("abc") == nil,
    codec.hex_decode("zz") == nil, codec.hex_decode("+1") == nil, codec.base32_decode("AD576YJ=") == nil,
    codec.base32_decode("AD576YI==") == nil, codec.base32_decode("A1") == nil,
  }
end)
