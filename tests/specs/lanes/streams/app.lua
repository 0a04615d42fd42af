-- Streams that are made in the slow lane.
local app = require "sampan"
local db, time = app.db, app.time
local SLOW = { slow = true }

db.exec("CREATE TABLE IF NOT EXISTS notes (text TEXT)")
local seen = {}

app.get("/chunks", SLOW, function()
  return app.stream(function(write)
    for at = 1, 5 do
      write(at .. ";")
      time.sleep(0.002)
    end
    write(tostring(app.worker.index))
  end)
end)
app.get("/writes", SLOW, function()
  return app.stream(function(write)
    db.exec("INSERT INTO notes (text) VALUES ('a')")
    write("written;")
    write(db.one("SELECT count(*) AS n FROM notes").n .. "")
  end)
end)
app.get("/big", SLOW, function()
  return app.stream(function(write)
    for _ = 1, 200 do write(("x"):rep(10000)) end
  end)
end)
app.get("/fails", SLOW, function()
  return app.stream(function(write)
    write("before")
    time.sleep(0.005)
    error("behind the first chunk")
  end)
end)
app.get("/endless", SLOW, function()
  return app.stream(function(write)
    seen.endless = "runs"
    local ok, err = pcall(function()
      while true do
        write("tick\n")
        time.sleep(0.005)
      end
    end)
    seen.endless = ok and "ended" or "given up"
    if not ok then error(err) end
  end)
end)
app.get("/seen/:name", SLOW, function(req) return seen[req.params.name] or "nothing" end)
app.post("/upload", { slow = true, stream = true, body_bytes_max = "1 MB" }, function(req)
  local bytes = 0
  for chunk in req:chunks() do bytes = bytes + #chunk end
  return { bytes = bytes, index = app.worker.index }
end)
