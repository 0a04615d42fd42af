local app = require "sampan"
local crypto = app.crypto
local KEY = ("k"):rep(32)

app.get("/seal", function()
  local text = crypto.seal("user 7\0\255", "unsubscribe")
  local forged = "A" .. text:sub(2)
  if forged == text then forged = "B" .. text:sub(2) end
  return {
    same = crypto.open(text, "unsubscribe") == "user 7\0\255", is_plain = text:find("^[%w_-]+$") ~= nil,
    other = crypto.open(text, "login") == nil, forged = crypto.open(forged, "unsubscribe") == nil,
    differs = crypto.seal("a", "b") ~= crypto.seal("a", "b"),
  }
end)
app.get("/encrypt", function()
  local sealed = crypto.encrypt("secret", KEY)
  local bound = crypto.encrypt("secret", KEY, "row 7")
  return {
    bytes = #sealed, same = crypto.decrypt(sealed, KEY), bound = crypto.decrypt(bound, KEY, "row 7"),
    other_key = crypto.decrypt(sealed, ("l"):rep(32)) == nil, other_extra = crypto.decrypt(bound, KEY, "row 8") == nil,
    short = crypto.decrypt(sealed:sub(1, 11), KEY) == nil, cut = crypto.decrypt(sealed:sub(1, -2), KEY) == nil,
  }
end)
app.get("/foreign", function()
  return crypto.decrypt(app.codec.hex_decode("03b93cb5664c15a7c2bdda31545bb977d439ca090079c8c62845f6ad772251eb379aa85f2746d68c9a4a"), KEY, "row 7")
end)
app.get("/key", function() return crypto.encrypt("secret", "short") end)
app.get("/cookie", function(req) return crypto.open(req.cookies.card, "cookie card") or "none" end)
app.get("/expires", function()
  local text = crypto.seal("user 7", "reset", { max_age = 1 })
  local before = crypto.open(text, "reset")
  local others = crypto.open(text, "login") == nil and crypto.open(crypto.seal("x", "reset"), "reset")
  app.time.sleep(1.1)
  return { before = before, after = crypto.open(text, "reset") == nil, others = others }
end)
app.get("/age", function() return crypto.seal("a", "b", { max_age = 0 }) end)
app.get("/option", function() return crypto.seal("a", "b", { maxage = 1 }) end)
