local app = require "sampan"
local crypto = app.crypto
local data = require "tokens"
local SECRET = { algorithm = "HS256", key = "a secret of more than 32 bytes for HS256" }
local NAMED = {
  { algorithm = "HS256", key = SECRET.key, kid = "a" },
  { algorithm = "HS256", key = "the secret of the key with the name b...", kid = "b" },
}

local function key_of(algorithm, half)
  return { algorithm = algorithm, key = data[half][algorithm] or SECRET.key .. SECRET.key }
end

app.get("/verify/:name", function(req)
  return crypto.jwt_verify(data.tokens[req.params.name], SECRET, { audience = req.query.audience, issuer = req.query.issuer })
end)
app.get("/code/:name", function(req)
  local ok, fault = pcall(crypto.jwt_verify, data.tokens[req.params.name], SECRET)
  return ok and "accepted" or { code = fault.code, status = fault.status }
end)
app.get("/foreign/:algorithm", function(req)
  local algorithm = req.params.algorithm
  local key = algorithm:sub(1, 2) == "HS" and { algorithm = algorithm, key = SECRET.key } or key_of(algorithm, "public")
  return { crypto.jwt_verify(data.tokens[algorithm], key).sub }
end)
app.get("/own/:algorithm", function(req)
  local algorithm = req.params.algorithm
  local token = crypto.jwt_sign({ sub = "9", user_id = 7 }, key_of(algorithm, "private"), { expires_in = 60 })
  local claims = crypto.jwt_verify(token, key_of(algorithm, "public"), { leeway = 10 })
  return { claims.sub, claims.user_id, claims.exp - claims.iat }
end)
app.get("/named/:name", function(req) return crypto.jwt_verify(data.tokens[req.params.name], NAMED) end)
app.get("/leeway", function()
  local token = crypto.jwt_sign({ exp = math.floor(app.time.now()) - 10 }, SECRET)
  local ok = pcall(crypto.jwt_verify, token, SECRET, { leeway = 5 })
  return { ok, crypto.jwt_verify(token, SECRET, { leeway = 60 }) ~= nil }
end)
app.get("/sent", function(req) return crypto.jwt_verify(req.headers.authorization, SECRET) end)
app.get("/confused", function()
  return crypto.jwt_verify(data.tokens.hs_by_public, { algorithm = "HS256", key = data.public.RS256 })
end)
app.get("/by_public", function() return crypto.jwt_verify(data.tokens.hs_by_public, key_of("RS256", "public")) end)
app.get("/no_algorithm", function() return crypto.jwt_verify(data.tokens.HS256, { key = SECRET.key }) end)
app.get("/none_key", function() return crypto.jwt_verify(data.tokens.none, { algorithm = "none", key = SECRET.key }) end)
app.get("/bare", function() return crypto.jwt_verify(data.tokens.HS256, SECRET.key) end)
app.get("/weak", function() return crypto.jwt_sign({}, { algorithm = "HS256", key = "secret" }) end)
app.get("/wrong_key", function() return crypto.jwt_sign({}, { algorithm = "RS256", key = data.private.ES256 }) end)
app.get("/no_claims", function() return crypto.jwt_sign({ 1, 2 }, SECRET) end)
