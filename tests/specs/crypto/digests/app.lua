local app = require "sampan"
local crypto = app.crypto

local function hex(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

app.get("/digests", function()
  return {
    sha256 = hex(crypto.sha256("abc")), sha384 = hex(crypto.sha384("abc")), sha512 = hex(crypto.sha512("abc")),
    sha1 = hex(crypto.sha1("abc")), md5 = hex(crypto.md5("abc")),
  }
end)
app.get("/bytes", function()
  return { empty = hex(crypto.sha256("")), binary = hex(crypto.sha256("\0\255")) }
end)
app.get("/hmac", function()
  local tags = {}
  for _, name in ipairs { "sha256", "sha384", "sha512", "sha1" } do
    tags[name] = hex(crypto.hmac(name, "Jefe", "what do ya want for nothing?"))
  end
  return tags
end)
app.get("/equal", function()
  return {
    crypto.equal("secret", "secret"), crypto.equal("secret", "secreT"), crypto.equal("secret", "secret1"),
    crypto.equal("", ""), crypto.equal("\255\0", "\255\0"),
  }
end)
app.get("/unknown", function() return hex(crypto.hmac("md5", "k", "x")) end)
app.get("/swapped_short", function() return hex(crypto.hmac("hunter" .. 2, "sha256", "x")) end)
app.get("/misspelt", function() return hex(crypto.hmac("SHA-256", "k", "x")) end)
app.get("/swapped", function() return hex(crypto.hmac("a secret that nobody may see", "sha256", "x")) end)
app.get("/number", function() return hex(crypto.sha256(7)) end)
