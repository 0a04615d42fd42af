local app = require "sampan"
local crypto, codec = app.crypto, app.codec
local hex, bytes = codec.hex_encode, codec.hex_decode

app.get("/hkdf", function()
  local options = { salt = bytes("000102030405060708090a0b0c"), info = bytes("f0f1f2f3f4f5f6f7f8f9"), length = 42 }
  return { hex(crypto.hkdf("sha256", ("\11"):rep(22), options)) }
end)
app.get("/hkdf_lengths", function()
  local lengths = {}
  for at, name in ipairs { "sha256", "sha384", "sha512", "sha1" } do
    lengths[at] = { #crypto.hkdf(name, "key"), #crypto.hkdf(name, "key", { length = 1 }) }
  end
  return lengths
end)
app.get("/hkdf_info", function()
  return { crypto.hkdf("sha256", "key", { info = "a" }) ~= crypto.hkdf("sha256", "key", { info = "b" }) }
end)
app.get("/hkdf_long", function() return crypto.hkdf("sha256", "key", { length = 8161 }) end)
app.get("/hkdf_none", function() return crypto.hkdf("sha256", "key", { length = 0 }) end)
app.get("/hkdf_empty", function() return crypto.hkdf("sha256", "") end)
app.get("/hkdf_swapped", function() return crypto.hkdf("a secret that nobody may see", "sha256") end)
app.get("/hkdf_hash", function() return crypto.hkdf("md5", "key") end)
app.get("/hkdf_option", function() return crypto.hkdf("sha256", "key", { iterations = 2 }) end)
app.get("/pbkdf2", function()
  return { hex(crypto.pbkdf2("sha1", "password", { salt = "salt", iterations = 4096, length = 20 })),
    hex(crypto.pbkdf2("sha256", "passwd", { salt = "salt", iterations = 1, length = 64 })) }
end)
app.get("/pbkdf2_salt", function() return crypto.pbkdf2("sha256", "password", { iterations = 1000 }) end)
app.get("/pbkdf2_iterations", function() return crypto.pbkdf2("sha256", "password", { salt = "salt" }) end)
app.get("/pbkdf2_many", function()
  return crypto.pbkdf2("sha256", "password", { salt = "salt", iterations = 5000001 })
end)
app.get("/pbkdf2_long", function()
  return crypto.pbkdf2("sha256", "password", { salt = "salt", iterations = 1, length = 1025 })
end)
app.get("/pbkdf2_blocks", function()
  return crypto.pbkdf2("sha256", "password", { salt = "salt", iterations = 200000, length = 1024 })
end)
