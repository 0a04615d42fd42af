local app = require "sampan"

local function fault(make, options)
  local ok, err = pcall(make, options)
  return ok and "taken" or (tostring(err):gsub("^.-:%d+: ", ""))
end
local function verify() end
app.get("/faults", function()
  return {
    fault(app.basic_auth, {}), fault(app.basic_auth, { users = { ann = "x" }, verify = verify }), fault(app.basic_auth, { users = { ann = "" } }),
    fault(app.basic_auth, { users = { ann = 1 } }), fault(app.basic_auth, { users = { "ann" } }), fault(app.basic_auth, { tokens = { a = "b" } }),
    fault(app.bearer_auth, { tokens = { ci = app.env.get("SAMPAN_SPEC_UNSET") } }), fault(app.basic_auth, { users = { ann = app.null } }),
    fault(app.bearer_auth, { verify = verify, realm = "a\r\nb" }), fault(app.bearer_auth, { verify = "x" }),
    fault(app.bearer_auth, { tokens = { ci = "secret-1\n" } }), fault(app.bearer_auth, { tokens = { ci = "secret 1" } }),
    fault(app.basic_auth, { users = { ann = "pass: word\n" } }),
  }
end)
app.get("/kept", function() app.use(app.bearer_auth{ verify = verify }) end)
