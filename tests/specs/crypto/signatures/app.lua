local app = require "sampan"
local crypto, codec = app.crypto, app.codec
local data = require "keys"
local DATA = "Hello, World!"
local KEY_OF = { RS256 = "rsa", PS512 = "rsa", ES256 = "ec", EdDSA = "ed" }

app.get("/foreign/:algorithm", function(req)
  local algorithm = req.params.algorithm
  local signature = codec.base64url_decode(data.signatures[algorithm])
  local function verify(key, text) return crypto.verify(algorithm, key, text, signature) end
  local certificate, key = data.certificates[KEY_OF[algorithm]], data.private[KEY_OF[algorithm]]
  return { verify(certificate, DATA), verify(key, DATA), verify(key, "other") }
end)
app.get("/own/:algorithm", function(req)
  local algorithm = req.params.algorithm
  local name = KEY_OF[algorithm]
  local signature = crypto.sign(algorithm, data.private[name], DATA)
  return { #signature, crypto.verify(algorithm, data.certificates[name], DATA, signature) }
end)
app.get("/pem", function()
  local keys = crypto.ed25519_keypair()
  return { crypto.verify("EdDSA", keys.public_key, DATA, crypto.sign("EdDSA", keys.private_key, DATA)) }
end)
app.get("/der", function()
  local key = data.certificates.ec
  local foreign = codec.base64url_decode(data.signatures.ES256_der)
  local own = crypto.sign("ES256", data.private.ec, DATA, { der = true })
  return { crypto.verify("ES256", key, DATA, foreign, { der = true }), crypto.verify("ES256", key, DATA, foreign),
    crypto.verify("ES256", key, DATA, own, { der = true }), crypto.verify("ES256", key, DATA, "", { der = true }) }
end)
app.get("/other_type", function() return crypto.verify("RS256", data.private.ec, DATA, "signature") end)
app.get("/other_certificate", function() return crypto.verify("RS256", data.certificates.ec, DATA, "signature") end)
app.get("/hmac", function() return crypto.sign("HS256", "a secret of more than 32 bytes, or so", DATA) end)
app.get("/der_of_rsa", function() return crypto.sign("RS256", data.private.rsa, DATA, { der = true }) end)
app.get("/no_key", function() return crypto.verify("RS256", nil, DATA, "signature") end)
