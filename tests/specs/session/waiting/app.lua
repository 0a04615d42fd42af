local app = require "sampan"
local db, time = app.db, app.time
db.exec("CREATE TABLE IF NOT EXISTS notes (text TEXT)")

app.get("/begin", function(req) req.session.n = 0 end)
app.get("/transaction", function(req)
  req.session.before = 1
  db.transaction(function(tx)
    tx:exec("INSERT INTO notes VALUES ('a')")
    req.session.inside = 2
    time.sleep(0.4)
  end)
  req.session.after = 3
end)
local holds = false
app.get("/hold", function()
  db.transaction(function()
    holds = true
    time.sleep(0.7)
    holds = false
  end)
end)
app.get("/holding", function()
  while not holds do time.sleep(0.01) end
end)
-- The first write of this route comes while another request has the write connection: it waits, and nobody else does.
app.get("/set/:n", function(req) req.session.n = req.params.n end)
app.get("/flash", function(req) req:flash("notice", 1) time.sleep(0.01) end)
app.get("/read", function(req) return { n = req.session.n } end)
app.get("/all", function(req)
  local s = req.session
  return { n = s.n, before = s.before, inside = s.inside, after = s.after, flashes = #req:flashes() }
end)
app.use("/wrapped", function(req, next)
  req.session.outer = "before"
  local res = next(req)
  req.session.outer = req.session.outer .. " after"
  return res
end)
app.get("/wrapped", function(req) req.session.outer = req.session.outer .. " inside" return "ok" end)
app.get("/outer", function(req) return { outer = req.session.outer } end)
