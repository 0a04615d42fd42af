local app = require "sampan"
local crypto = app.crypto
-- The secret of RFC 6238 appendix B, "12345678901234567890".
local SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

local function verify(code, options)
  local counter = crypto.totp_verify(SECRET, code, options)
  return counter == nil and "refused" or counter
end

app.get("/rfc", function()
  return { verify("287082", { time = 59 }), verify("081804", { time = 1111111109 }),
    verify("050471", { time = 1111111111 }), verify("005924", { time = 1234567890 }),
    verify("279037", { time = 2000000000 }), verify("353130", { time = 20000000000 }) }
end)
app.get("/typed", function()
  local typed = "gezd gnbv gy3t qojq gezd gnbv gy3t qojq"
  return { verify("287 082", { time = 59 }), crypto.totp_verify(typed, "287082", { time = 59 }) }
end)
app.get("/refused", function()
  return { verify("287083", { time = 59 }), verify("", { time = 59 }), verify("2870820", { time = 59 }),
    verify("28708a", { time = 59 }), verify("287082") }
end)
app.get("/window", function()
  return { verify("287082", { time = 89 }), verify("287082", { time = 90 }),
    verify("287082", { time = 90, window = 2 }), verify("287082", { time = 89, window = 0 }),
    verify("287082", { time = 0 }) }
end)
app.get("/once", function()
  local counter = verify("287082", { time = 59 })
  return { verify("287082", { time = 59, after = counter }), verify("287082", { time = 59, after = counter - 1 }),
    verify("359152", { time = 59, after = counter }) }
end)
app.get("/secret", function()
  local secret = crypto.totp_secret()
  return { secret:match("^[A-Z2-7]+$") ~= nil, #secret, secret ~= crypto.totp_secret() }
end)
app.get("/uri", function()
  return { crypto.totp_uri{ secret = SECRET, account = "ann@example.org", issuer = "Boats & Söhne" } }
end)
app.get("/uri_colon", function() return crypto.totp_uri{ secret = SECRET, account = "a:b", issuer = "Boats" } end)
app.get("/uri_issuer", function() return crypto.totp_uri{ secret = SECRET, account = "ann" } end)
app.get("/wide", function() return verify("287082", { window = 11 }) end)
app.get("/no_base32", function() return crypto.totp_verify("a secret!", "287082") end)
app.get("/option", function() return verify("287082", { digits = 8 }) end)
