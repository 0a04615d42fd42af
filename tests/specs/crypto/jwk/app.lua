local app = require "sampan"
local crypto = app.crypto
local data = require "keys"
local rsa, ec, ed = data.public.rsa, data.public.ec, data.public.ed
local SET = { keys = { rsa, ec, ed, data.public.enc, { kty = "AKP", kid = "later" } } }
local ACCEPTED = { algorithms = { "PS256", "PS384", "PS512", "RS256", "ES256", "EdDSA" } }

local function with(key, name, value)
  local changed = {}
  for member, known in pairs(key) do changed[member] = known end
  changed[name] = value
  return changed
end

app.get("/foreign/:name", function(req)
  return { crypto.jwt_verify(data.tokens[req.params.name], SET, ACCEPTED).sub }
end)
app.get("/own/:kid/:algorithm", function(req)
  local key = with(data.private[req.params.kid], "alg", req.params.algorithm)
  local token = crypto.jwt_sign({ sub = "9" }, key, { expires_in = 60 })
  local header = crypto.jwt_decode(token).header
  return { crypto.jwt_verify(token, SET, ACCEPTED).sub, header.alg, header.kid }
end)
app.get("/chosen", function()
  local token = crypto.jwt_sign({ sub = "9" }, { algorithm = "PS384", key = data.private.rsa, kid = "mine" })
  return { crypto.jwt_verify(token, { algorithm = "PS384", key = rsa, kid = "mine" }).sub }
end)
app.get("/certificate", function()
  local certificates = data.certificates
  return { crypto.jwt_verify(data.tokens.PS256, { algorithm = "PS256", key = certificates.rsa }).sub,
    crypto.jwt_verify(data.tokens.ES256, { algorithm = "ES256", key = certificates.ec .. certificates.rsa }).sub,
    crypto.jwt_verify(data.tokens.EdDSA, { algorithm = "EdDSA", key = certificates.ed }).sub }
end)
app.get("/code/:name", function(req)
  local ok, fault = pcall(crypto.jwt_verify, data.tokens[req.params.name], SET, ACCEPTED)
  return ok and "accepted" or { code = fault.code, status = fault.status }
end)
app.get("/other_algorithm", function()
  return crypto.jwt_verify(data.tokens.RS256, SET, { algorithms = { "PS256", "HS256" } })
end)
app.get("/own_algorithm", function()
  return crypto.jwt_verify(data.tokens.RS256, with(rsa, "alg", "PS256"), ACCEPTED)
end)
app.get("/malformed_keys", function()
  local point = with(ec, "y", ec.x)
  local modulus = { kty = "RSA", n = "AAAA", e = "AQAB" }
  local keys, subjects = { keys = { point, modulus, ec, rsa } }, {}
  for at, name in ipairs { "ES256", "nameless", "RS256" } do
    subjects[at] = crypto.jwt_verify(data.tokens[name], keys, ACCEPTED).sub
  end
  return subjects
end)
app.get("/no_common_algorithm", function()
  return crypto.jwt_verify(data.tokens.ES256, { keys = { ec, ed } }, { algorithms = "RS256" })
end)
app.get("/decode", function() return crypto.jwt_decode(data.tokens.expired) end)
app.get("/no_token", function() return crypto.jwt_decode("no token") end)
app.get("/no_algorithm", function() return crypto.jwt_verify(data.tokens.RS256, rsa) end)
app.get("/encryption", function() return crypto.jwt_verify(data.tokens.ES256, data.public.enc) end)
app.get("/sign_by_public", function() return crypto.jwt_sign({}, with(ec, "key_ops", { "verify" })) end)
app.get("/public_as_secret", function()
  return crypto.jwt_verify(data.tokens.by_public, { algorithm = "HS256", key = rsa })
end)
app.get("/nothing_fits", function()
  return crypto.jwt_verify(data.tokens.ES256, { keys = { data.public.enc } })
end)
