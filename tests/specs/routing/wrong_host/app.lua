local app = require "sampan"

local function refused(name, hint)
  local ok, err = pcall(app.host, name, function() end)
  assert(not ok and err:find("is not the name of a host", 1, true) and err:find(hint, 1, true), err)
end
for _, name in ipairs { "*.", "*example.com", "a.*.com", "*.*.com" } do refused(name, "'*' stands alone") end
for _, name in ipairs { ":", ":.example.com", ":a:b.com", ":a-b.com", ":tenant", "a.:b.com" } do
  refused(name, "a parameter is the whole first label")
end
for _, name in ipairs { "::1", "[::1]", "[::1]:80" } do refused(name, "IPv6") end
for _, name in ipairs { "a.com:80", ":a.b.com:80", "a.com/x" } do refused(name, "without scheme, port and path") end
refused("*", "declare what is for all hosts without a host")
refused(":a.0.0.1", "below an IP address")
refused("", "at most 253 bytes")
refused("*." .. ("a."):rep(200) .. "com", "at most 253 bytes")
refused("a\0b.com", "single dots")

app.host("https://api.example.org", function(api) api.get("/", "never") end)
