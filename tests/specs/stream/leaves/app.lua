local app = require "sampan"

local options = { stream = true, body_bytes_max = "10 MB" }
local seen = {}

local function note(name, fn)
  return function(req)
    seen[name] = "runs"
    local ok, err = pcall(fn, req)
    if ok then
      seen[name] = "whole"
    else
      seen[name] = ("%d %s"):format(err.status or 0, err.message)
      error(err)
    end
    return "end"
  end
end
local function drain(req)
  for _ in req:chunks() do end
end

app.post("/count", options, note("count", drain))
app.post("/text", options, note("text", function(req) req:text() end))
app.post("/echo", options, function(req)
  return app.stream(note("echo", function(_) end) and function(write)
    seen.echo = "runs"
    local ok, err = pcall(function()
      for chunk in req:chunks() do write(chunk) end
    end)
    seen.echo = ok and "whole" or ("%d %s"):format(err.status or 0, err.message)
  end)
end)
app.post("/busy", options, function(req)
  for _ in req:chunks() do break end
  seen.busy = "sleeps"
  app.time.sleep(0.15)
  local ok, err = pcall(drain, req)
  seen.busy = ok and "whole" or tostring(err.message)
  return "end"
end)
app.get("/seen/:name", function(req) return seen[req.params.name] or "nothing" end)
