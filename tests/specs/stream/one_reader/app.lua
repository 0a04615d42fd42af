local app = require "sampan"

local options = { stream = true, body_bytes_max = "1 MB" }
local kept, kept_next

app.post("/field", options, function(req) return req.body end)
app.post("/twice", options, function(req)
  for _ in req:chunks() do end
  for _ in req:chunks() do end
end)
app.post("/text_then_chunks", options, function(req)
  req:text()
  for _ in req:chunks() do end
end)
app.post("/chunks_then_text", options, function(req)
  for _ in req:chunks() do break end
  return req:text()
end)
app.post("/keep", options, function(req)
  kept, kept_next = req, req:chunks()
  kept_next()
  return "kept"
end)
app.post("/after", function()
  local ok, err = pcall(kept_next)
  local ok_whole, err_whole = pcall(function() return kept:text() end)
  return { ok = ok, error = tostring(err), whole = ok_whole, error_whole = tostring(err_whole) }
end)
app.post("/in_batch", options, function(req)
  app.db.batch(function() req:text() end)
end)
app.post("/at_once", options, function(req)
  local next = req:chunks()
  next()
  -- The second asks while the first waits.
  local other = coroutine.wrap(function() return pcall(next) end)
  kept, kept_next = req, next
  other()
  return "end"
end)
-- What follows is about the streams of JavaScript; this says what they must come to.
app.post("/release", options, function(req)
  return { error = "the reader was released", text = req:text() }
end)
app.post("/tee", options, function(req) return { req:text(), req:text() } end)
app.post("/cancel", options, function() return { done = true } end)
app.post("/transfer", options, function(req) return { #req:text(), 0, ("120,"):rep(9) .. "120", 0 } end)
app.on_error(function(_, err) return { error = err.message } end)
