local calls = require("sampan").calls

calls.serve(function(number, name, arguments, count)
  local called
  if type(exports) == "table" then called = exports[name] end
  if called == nil then called = rawget(_G, name) end
  if type(called) ~= "function" then return calls.missing(number, name) end
  local value = called(unpack(arguments, 1, count))
  calls.returned(number, value)
end)
