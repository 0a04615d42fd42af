-- Written so that it runs on SQLite and on PostgreSQL.
local app = require "sampan"
local db = app.db

db.exec("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, done INTEGER DEFAULT 0)")
local at_start = db.one("SELECT count(*) AS n FROM notes")

local function add(id, title) return db.exec("INSERT INTO notes (id, title) VALUES (?, ?)", { id, title }) end
local function titles()
  local list = app.json.array {}
  for i, row in ipairs(db.query("SELECT title FROM notes ORDER BY id")) do list[i] = row.title end
  return list
end

app.get("/titles", titles)
app.get("/at-start", function() return { n = at_start.n } end)
app.post("/add/:id/:title", function(req)
  return { changes = add(tonumber(req.params.id), req.params.title).changes }
end)
app.get("/one/:id", function(req)
  local row = db.one("SELECT id, title FROM notes WHERE id = :id", { id = tonumber(req.params.id) })
  return { row = row or app.null }
end)
app.post("/rename", function()
  local done = db.exec("UPDATE notes SET title = title || '!' WHERE id <= ?", { 2 })
  return { changes = done.changes }
end)
app.post("/returning", function()
  return db.query("UPDATE notes SET done = 1 WHERE id = ? RETURNING id, done", { 1 })
end)
app.post("/taken", function()
  local ok, err = pcall(add, 9, "a!")
  return { ok = ok, code = err.code, columns = err.columns }
end)
app.post("/empty", function()
  local ok, err = pcall(db.exec, "INSERT INTO notes (id, title) VALUES (?, ?)", { 9, app.null })
  return { ok = ok, code = err.code }
end)
app.post("/batch", function()
  return { result = db.batch(function()
    add(3, "c")
    pcall(db.batch, function() add(4, "not") error("no") end)
    db.batch(function() add(5, "e") end)
    return "done"
  end) }
end)
app.post("/batch-throws", function()
  local ok = pcall(db.batch, function() add(6, "not") error("no") end)
  return { ok = ok }
end)
app.post("/transaction", function()
  local count = db.transaction(function(tx)
    tx:exec("INSERT INTO notes (id, title) VALUES (?, ?)", { 7, "g" })
    app.time.sleep(0.001)
    tx:batch(function() tx:exec("INSERT INTO notes (id, title) VALUES (8, 'h')") end)
    return tx:one("SELECT count(*) AS n FROM notes WHERE id > 6").n
  end)
  return { count = count }
end)
app.post("/transaction-throws", function()
  local ok, err = pcall(db.transaction, function(tx)
    tx:exec("INSERT INTO notes (id, title) VALUES (9, 'not')")
    error({ code = 7 })
  end)
  return { ok = ok, code = err.code }
end)
app.post("/beside-transaction", function()
  local ok, err = pcall(db.transaction, function()
    db.exec("INSERT INTO notes (id, title) VALUES (9, 'not')")
  end)
  return { ok = ok, code = err.code }
end)
app.post("/transaction-in-transaction", function()
  local ok, err = pcall(db.transaction, function() db.transaction(function() end) end)
  return { ok = ok, message = tostring(err.message or err) }
end)
app.get("/template", function()
  return db.query("SELECT title FROM notes WHERE id = ?", { 1 })
end)
app.post("/begin", function()
  local ok, err = pcall(db.exec, "BEGIN")
  return { ok = ok, code = err.code }
end)
