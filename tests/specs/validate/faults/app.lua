local app = require "sampan"

local ring = { type = "object" }
ring.fields = { a = ring }
local cases = {
  unknown = function() app.validate({}, { a = { requird = true } }) end,
  ty = function() app.validate({}, { a = "text" }) end,
  useless = function() app.validate({}, { a = { type = "boolean", min = 1 } }) end,
  pattern = function() app.validate({}, { a = { pattern = "(" } }) end,
  splits = function() app.validate({}, { a = { pattern = "a)|(b" } }) end,
  bound = function() app.validate({}, { a = { type = "date", max = "tomorrow" } }) end,
  tz = function() app.validate({}, { a = { type = "date", tz = "Mars" } }) end,
  idle_tz = function() app.validate({}, { a = { tz = "UTC" } }) end,
  length = function() app.validate({}, { a = { max = -1 } }) end,
  enum = function() app.validate({}, { a = { enum = {} } }) end,
  fields = function() app.validate({}, { a = { type = "object" } }) end,
  check = function() app.validate({}, { a = { check = "x" } }) end,
  deep = function() app.validate({}, { a = ring }) end,
  nested = function() app.validate({}, { a = { type = "object", fields = { b = { min = "x" } } } }) end,
  no_schema = function() app.validate({}) end,
  no_data = function() app.validate(function() end, {}) end,
}

app.get("/:case", function(req)
  local ok, said = pcall(cases[req.params.case])
  return ok and "no error" or tostring(said)
end)
