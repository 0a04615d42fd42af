-- What `cargo xtask bench stream` measures: large bodies, both ways.
local app = require "sampan"

-- Counts what comes.
app.post("/upload", { stream = true, body_bytes_max = "1 GB" }, function(req)
  local bytes = 0
  for chunk in req:chunks() do bytes = bytes + #chunk end
  return { bytes = bytes }
end)

-- 102.4 MB in chunks of 64 kB.
local chunk = ("x"):rep(64000)
app.get("/download", function()
  return app.stream(function(write)
    for _ = 1, 1600 do write(chunk) end
  end)
end)
