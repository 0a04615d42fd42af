local app = require "sampan"
local time = app.time

app.get("/value", function()
  return app.trace("plain", function() return { n = 1 } end)
end)
app.get("/waits", function()
  return app.trace("waits", { size = 2.5, kind = "a", is_new = true }, function()
    time.sleep(0.001)
    return app.trace("inner", function() return "after waiting" end)
  end)
end)
app.get("/throws", function()
  local ok, fault = pcall(app.trace, "fails", function() error("own", 0) end)
  return { ok, tostring(fault) }
end)
app.get("/unhandled", function()
  app.trace("fails", function() error("not caught") end)
end)
app.get("/wrong", function()
  local faults = {}
  local function fault(...)
    faults[#faults + 1] = tostring(select(2, pcall(app.trace, ...))):match("^[^\n]*")
  end
  local many = {}
  for n = 1, 33 do many["a" .. n] = n end
  fault("", function() end)
  fault(("x"):rep(201), function() end)
  fault("a", { list = {} }, function() end)
  fault("a", many, function() end)
  return faults
end)
