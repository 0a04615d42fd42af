local app = require "sampan"
local password = app.password
local BCRYPT = "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"

app.get("/round", function()
  local hash = password.hash("größe\0 7")
  return {
    form = hash:match("^%$argon2id%$v=19%$m=19456,t=2,p=1%$") ~= nil, right = password.verify("größe\0 7", hash),
    wrong = password.verify("größe\0 8", hash), cut = password.verify("größe", hash), empty = password.verify("", hash),
    salted = password.hash("a") ~= password.hash("a"), rehash = password.needs_rehash(hash),
  }
end)
app.get("/long", function()
  local long = ("x"):rep(10000)
  local hash = password.hash(long)
  return { right = password.verify(long, hash), longer = password.verify(long .. "x", hash) }
end)
app.get("/bcrypt", function()
  return {
    right = password.verify("U*U", BCRYPT), wrong = password.verify("U*V", BCRYPT), rehash = password.needs_rehash(BCRYPT),
  }
end)
app.get("/nobody", function() return { found = password.verify("U*U", nil) } end)
