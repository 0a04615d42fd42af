local app = require "sampan"
local csv, db = app.csv, app.db

db.exec("CREATE TABLE IF NOT EXISTS imported (id INTEGER PRIMARY KEY, name TEXT)")

local large = { stream = true, body_bytes_max = "2 MB" }
local kept

local function count(req) return { count = req:csv_records(function() end) } end
app.post("/count", large, count)
app.post("/small", { stream = true, body_bytes_max = 100 }, count)
app.post("/here", count)
app.get("/none", count)
app.post("/echo", large, function(req)
  local all = {}
  req:csv_records(function(record) all[#all + 1] = record end)
  return all
end)
app.post("/lists", large, function(req)
  local all = {}
  req:csv_records(function(record) all[#all + 1] = record end, { header = false, separator = ";" })
  return all
end)
app.post("/import", large, function(req)
  local count = db.transaction(function(tx)
    return req:csv_records(function(record)
      tx:exec("INSERT INTO imported VALUES (?, ?)", { tonumber(record.id), record.name })
    end)
  end)
  return { count = count, rows = db.one("SELECT count(*) AS n FROM imported").n }
end)
app.post("/plain", large, function(req)
  req:csv_records(function(record) db.exec("INSERT INTO imported VALUES (?, ?)", { tonumber(record.id), record.name }) end)
  return db.one("SELECT count(*) AS n FROM imported").n
end)
app.get("/clear", function() return db.exec("DELETE FROM imported") end)
app.post("/convert", large, function(req)
  local out = csv.writer { separator = ";" }
  req:csv_records(function(record) out:add(record) end)
  return out:take()
end)
app.post("/stops", large, function(req)
  return { count = req:csv_records(function(record) return record.n ~= "2" end) }
end)
app.post("/twice", large, function(req)
  req:csv_records(function() end)
  req:csv_records(function() end)
end)
app.post("/text_first", large, function(req)
  req:text()
  req:csv_records(function() end)
end)
app.post("/throws", large, function(req)
  req:csv_records(function(record) if record.n == "2" then error("boom") end end)
end)
app.post("/waits", large, function(req)
  req:csv_records(function() app.time.sleep(0.001) end)
end)
app.post("/loops", large, function(req)
  req:csv_records(function() while true do end end)
end)
app.post("/slow", large, function(req)
  req:csv_records(function() local x = 0 for i = 1, 1000000 do x = x + i % 7 end end)
  return "slow"
end)
app.get("/quick", function() return "quick" end)
app.post("/in_batch", large, function(req)
  db.batch(function() req:csv_records(function() end) end)
end)
app.post("/keep", function(req)
  kept = req
  return "kept"
end)
app.get("/after", function()
  local _, err = pcall(function() kept:csv_records(function() end) end)
  return tostring(err)
end)
app.get("/state", function() return { left = kept and kept.left or 0 } end)
app.post("/leaves", large, function(req)
  local seen = { left = 0 }
  kept = seen
  local ok, err = pcall(function() req:csv_records(function() seen.rows = (seen.rows or 0) + 1 end) end)
  seen.left = ok and "ended" or err.code or tostring(err)
end)
