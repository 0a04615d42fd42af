local app = require "sampan"
local crypto, codec = app.crypto, app.codec

app.get("/pair", function()
  local keys = crypto.ed25519_keypair()
  local signature = crypto.ed25519_sign("message", keys.private_key)
  return {
    private = keys.private_key:match("^%-+BEGIN PRIVATE KEY%-+\n") ~= nil,
    public = keys.public_key:match("^%-+BEGIN PUBLIC KEY%-+\n") ~= nil, bytes = #signature,
    right = crypto.ed25519_verify("message", signature, keys.public_key),
    other_message = crypto.ed25519_verify("messagf", signature, keys.public_key),
    other_key = crypto.ed25519_verify("message", signature, crypto.ed25519_keypair().public_key),
    cut = crypto.ed25519_verify("message", signature:sub(1, 63), keys.public_key),
  }
end)
app.get("/rfc", function()
  local seed = codec.hex_decode("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
  local public = codec.hex_decode("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
  local signature = crypto.ed25519_sign("\114", seed)
  return { signature = codec.hex_encode(signature), right = crypto.ed25519_verify("\114", signature, public) }
end)
-- Under a key of small order this signature would hold for every message: it is the neutral element, and zero.
local function neutral(last) return "\1" .. ("\0"):rep(30) .. string.char(last) end
local forged = "\1" .. ("\0"):rep(63)
app.get("/small/:last", function(req)
  return crypto.ed25519_verify("any message", forged, neutral(tonumber(req.params.last)))
end)
-- The bytes behind the key are not a part of it.
app.get("/behind/:function", function(req)
  local der = codec.hex_decode("302a300506032b657003210001" .. ("00"):rep(31) .. ("55"):rep(32))
  local key = "-----BEGIN PUBLIC KEY-----\n" .. codec.base64_encode(der) .. "\n-----END PUBLIC KEY-----"
  if req.params["function"] == "verify" then return { crypto.verify("EdDSA", key, "any message", forged) } end
  return { crypto.ed25519_verify("any message", forged, key) }
end)
app.get("/swapped", function()
  local keys = crypto.ed25519_keypair()
  return crypto.ed25519_sign("message", keys.public_key)
end)
app.get("/text", function() return crypto.ed25519_verify("message", "signature", "no key") end)
