local app = require "sampan"
local db = app.db

db.exec("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT)")

local hits = 0
app.get("/up/hit", function()
  hits = hits + 1
  return "hit " .. hits
end)
local function hit(req) return app.fetch("http://" .. req.headers.host .. "/up/hit") end

app.get("/hits", function() return { hits = hits } end)
app.post("/after", function(req)
  db.exec("INSERT INTO notes (text) VALUES ('one')")
  local first = hit(req).body
  db.exec("INSERT INTO notes (text) VALUES ('two')")
  return { first, hit(req).body, db.one("SELECT count(*) AS n FROM notes").n }
end)
app.post("/in-a-batch", function(req)
  local ok, err = pcall(db.batch, function()
    db.exec("INSERT INTO notes (text) VALUES ('lost')")
    hit(req)
  end)
  return tostring(err)
end)
app.post("/lost", function(req)
  db.exec("INSERT INTO notes (id) VALUES (1000)")
  pcall(db.exec, "INSERT OR ROLLBACK INTO notes (id) VALUES (1000)")
  local ok, err = pcall(hit, req)
  return tostring(err)
end)
app.post("/in-a-transaction", function(req)
  local ok, err = pcall(db.transaction, function(tx)
    tx:exec("INSERT INTO notes (text) VALUES ('lost')")
    hit(req)
  end)
  return tostring(err)
end)
