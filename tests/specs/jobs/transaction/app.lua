local app = require "sampan"
local db, time = app.db, app.time

app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS done (id INTEGER, line TEXT)") end)
app.job("note", function(line) db.exec("INSERT INTO done (id, line) SELECT count(*), ? FROM done", { line }) end)

app.post("/kept", function()
  local kept = db.transaction(function(tx)
    tx:exec("INSERT INTO done (id, line) VALUES (0, 'written')")
    local id = tx:enqueue("note", "from the transaction")
    local same = tx:enqueue("note", "not twice", { unique = "key", delay = "1 h" })
    time.sleep(0.001)
    local again = tx:enqueue("note", "not twice", { unique = "key" })
    return { id > 0, same == again }
  end)
  return kept
end)
app.post("/rolled-back", function()
  pcall(db.transaction, function(tx)
    tx:enqueue("note", "never")
    error("no")
  end)
  app.enqueue("note", "after")
end)
app.post("/wrong", function()
  local text = {}
  db.transaction(function(tx)
    local _, err = pcall(app.enqueue, "note", "plain")
    text[1] = tostring(err)
    _, err = pcall(tx.enqueue, tx, "other")
    text[2] = tostring(err)
  end)
  return text
end)
app.job("beside", function()
  db.transaction(function(tx)
    local _, err = pcall(db.exec, "INSERT INTO done (id, line) SELECT count(*), 'beside' FROM done")
    local line = tostring(err):match("use tx") or tostring(err)
    tx:exec("INSERT INTO done (id, line) SELECT count(*), ? FROM done", { line })
  end)
end)
app.post("/beside", function() app.enqueue("beside") end)
app.get("/done", function()
  local lines = app.json.array {}
  for i, row in ipairs(db.query("SELECT line FROM done ORDER BY id")) do lines[i] = row.line end
  return lines
end)
