local app = require "sampan"

local kept
app.get("/stream", function(req)
  req.session.n = 1
  return app.stream(function(write)
    write("n is " .. req.session.n)
    local ok, err = pcall(function() req.session.n = 2 end)
    write(", " .. tostring(err))
  end)
end)
app.get("/first", function(req)
  return app.stream(function(write)
    write("n is " .. tostring(req.session.n))
    local ok, err = pcall(function() req:flash("notice", "late") end)
    write(", " .. tostring(err))
  end)
end)
app.get("/keep", function(req) kept = req.session kept.n = 5 end)
app.get("/use", function()
  local ok, err = pcall(function() kept.n = 6 end)
  return { n = kept.n, message = tostring(err) }
end)
app.get("/n", function(req) return { n = req.session.n } end)
