local app = require "sampan"
local crypto, codec, time = app.crypto, app.codec, app.time

local STANDARD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
local GITHUB = "It's a Secret to Everybody"

local function hex(secret, text) return codec.hex_encode(crypto.hmac("sha256", secret, text)) end

local function code(...)
  local ok, fault = pcall(crypto.verify_webhook, ...)
  return ok and "accepted" or { fault.code, fault.status }
end

-- What Stripe would send now, or some seconds from now.
local function stripe(secret, body, seconds)
  local at = math.floor(time.now()) + (seconds or 0)
  return { ["Stripe-Signature"] = ("t=%d,v0=00,v1=%s"):format(at, hex(secret, at .. "." .. body)) }
end

local function standard(body, seconds)
  local at = tostring(math.floor(time.now()) + (seconds or 0))
  local tag = crypto.hmac("sha256", codec.base64_decode(STANDARD:sub(7)), "msg_1." .. at .. "." .. body)
  return { ["webhook-id"] = "msg_1", ["webhook-timestamp"] = at, ["webhook-signature"] = "v1,AAAA v1," .. codec.base64_encode(tag) }
end

app.get("/stripe", function()
  local old = { "new", "old" }
  return {
    code("stripe", "old", '{"a":1}', stripe("old", '{"a":1}')),
    code("stripe", old, "x", stripe("old", "x")),
    code("stripe", "new", "x", stripe("old", "x")),
    code("stripe", "old", "y", stripe("old", "x")),
    code("stripe", "old", "x", stripe("old", "x", -290)),
    code("stripe", "old", "x", stripe("old", "x", -310)),
    code("stripe", "old", "x", stripe("old", "x", 310)),
    code("stripe", "old", "x", stripe("old", "x", -310), { tolerance = 600 }),
    code("stripe", "old", "x", {}),
    code("stripe", "old", "x", { ["stripe-signature"] = "v1=00" }),
  }
end)
app.get("/standard", function()
  local parts = standard("x")
  parts["webhook-id"] = nil
  return {
    code("standard", STANDARD, "x", standard("x")),
    code("standard", STANDARD, "y", standard("x")),
    code("standard", STANDARD, "x", standard("x", 400)),
    code("standard", STANDARD, "x", parts),
  }
end)
app.get("/public_key", function()
  local private = codec.base64_decode("nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=")
  local public = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
  local headers = standard("x")
  local text = "msg_1." .. headers["webhook-timestamp"] .. ".x"
  headers["webhook-signature"] = "v1a," .. codec.base64_encode(crypto.ed25519_sign(text, private))
  return {
    code("standard", public, "x", headers),
    code("standard", { STANDARD, public }, "x", headers),
    code("standard", public, "y", headers),
    code("standard", STANDARD, "x", headers),
    code("standard", public, "x", standard("x")),
  }
end)
app.get("/bytes", function()
  local body = "\255\0\254"
  return { code("github", "s", body, { ["X-HUB-SIGNATURE-256"] = "sha256=" .. hex("s", body) }) }
end)
app.post("/github", function(req)
  req:verify_webhook("github", { "another", GITHUB })
  return "thanks"
end)
app.post("/unread", { stream = true }, function(req)
  req:verify_webhook("github", GITHUB)
  return "thanks"
end)
app.post("/read", { stream = true }, function(req)
  local text = req:text()
  req:verify_webhook("github", GITHUB)
  return text
end)
app.post("/read-buffer", { stream = true }, function(req)
  local json = req:text()
  req:verify_webhook("github", GITHUB)
  return { bytes = #json }
end)
app.post("/pieces", { stream = true }, function(req)
  for _ in req:chunks() do end
  req:verify_webhook("github", GITHUB)
  return "thanks"
end)
app.get("/id", function()
  local codes = {}
  for i, id in ipairs { "msg.1", "msg 1", "", "msg_1" } do
    local headers = standard("x")
    headers["webhook-id"] = id
    codes[i] = code("standard", STANDARD, "x", headers)
  end
  return codes
end)
app.get("/swapped", function()
  return crypto.verify_webhook("a secret that nobody may see", "github", "", {})
end)
app.get("/scheme", function() return crypto.verify_webhook("svix", "s", "", {}) end)
app.get("/no_secret", function() return crypto.verify_webhook("github", "", "", {}) end)
app.get("/no_secrets", function() return crypto.verify_webhook("github", {}, "", {}) end)
app.get("/base64", function() return crypto.verify_webhook("standard", "whsec_!", "", {}) end)
app.get("/private_key", function() return crypto.verify_webhook("standard", "whsk_AAAA", "", {}) end)
app.get("/tolerance", function() return crypto.verify_webhook("stripe", "s", "", {}, { tolerance = 0 }) end)
app.get("/option", function() return crypto.verify_webhook("stripe", "s", "", {}, { leeway = 1 }) end)
