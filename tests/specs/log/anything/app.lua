local app = require "sampan"
local log = app.log

app.get("/", function()
  local loop = { name = "loop" }
  loop.self = loop
  log.info("cycle", { loop = loop })
  log.info("function", { f = print })
  log.info("huge", { text = ("x"):rep(300000) })
  local deep = {}
  for _ = 1, 5000 do deep = { deep = deep } end
  log.info("deep", { deep = deep })
  local hostile = setmetatable({}, { __index = error, __len = error, __pairs = error })
  log.info("hostile", { hostile = hostile, co = coroutine.create(print), [print] = 1, 10, 20 })
  log.info("throws", { text = setmetatable({}, { __tostring = function() error("never") end }) })
  log.info("numbers", { nan = 0 / 0, mixed = { 1, 2, x = 3 } })
  log.info()
  log.info(nil, app.null, "more")
  print(setmetatable({}, { __tostring = function() error("never") end }), loop)
  return "logged"
end)
app.get("/sparse", function()
  log.info("seats", { seats = { "first", [4294967290] = 1 } })
  -- Asked for its length, this table says 2^30.
  local rows = { "first" }
  for power = 1, 30 do rows[2 ^ power] = 1 end
  log.info("length", { rows = rows })
  return "logged"
end)
app.get("/error", function()
  local error_of_ours = setmetatable({}, { __tostring = function() return "outer: inner" end })
  log.error("failed", error_of_ours)
  log.warn(error_of_ours)
  return "logged"
end)
