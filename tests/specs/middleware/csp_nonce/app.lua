local app = require "sampan"
local seen = {}

app.use("/in/*", app.secure_headers{ csp = "script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'" })
app.use("/in/inner/*", app.secure_headers{ csp = "script-src 'nonce-{nonce}'" })
app.use("/plain/*", app.secure_headers{ csp = "script-src 'self'" })
local function page(req) return req:render("page.html", { given = req.csp_nonce }) end
app.get("/in/page", page)
app.get("/in/inner/page", page)
app.get("/plain/page", page)
app.get("/in/fixed", { fixed = true })
app.get("/in/fresh", function(req)
  local nonce = req.csp_nonce
  local is_fresh = not seen[nonce]
  seen[nonce] = true
  local is_plain = #nonce == 22 and not nonce:find("[^%w_-]")
  return { fresh = is_fresh, same = nonce == req.csp_nonce, plain = is_plain }
end)
app.get("/in/fails", function() error("on purpose") end)

-- The policy as a client gets it. Middleware of a script does not see it: it is added after that.
local function policy(req, path)
  local res = app.fetch("http://" .. req.headers.host .. path)
  return res.headers["content-security-policy"], res.body
end
local function expected(nonce)
  return "script-src 'nonce-" .. nonce .. "'; style-src 'nonce-" .. nonce .. "'; frame-ancestors 'none'"
end
app.get("/in/nonce", function(req) return req.csp_nonce end)
app.get("/sent", function(req)
  local sent, nonce = policy(req, "/in/nonce")
  return { same = sent == expected(nonce) }
end)
app.get("/sent/fixed", function(req)
  local first, second = policy(req, "/in/fixed"), policy(req, "/in/fixed")
  local one, other = first:match("'nonce%-([%w_-]+)'"), second:match("'nonce%-([%w_-]+)'")
  return { first = first == expected(one), second = second == expected(other), other = one ~= other }
end)
