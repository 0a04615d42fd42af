local app = require "sampan"
local cache, db, time = app.cache, app.db, app.time

db.exec("CREATE TABLE IF NOT EXISTS orders (user TEXT, item TEXT)")

local function run(name) return name .. " " .. cache.incr("runs:" .. name) end

app.use(app.secure_headers())
-- Who asks is known before the key is looked at.
app.use("/api/*", function(req, next)
  local token = req.headers["x-token"]
  if token == "revoked" then return app.text("no", 401) end
  req.state.user = token
  local res = next(req)
  res.headers["x-around"] = "yes"
  return res
end)
app.use("/api/late", function(req, next)
  local res = next(req)
  if req.headers["x-late"] then error("too late") end
  return res
end)
app.use("/api/*", app.idempotency{ user = function(req) return req.state.user end })
-- The outermost one counts.
app.use("/api/*", app.idempotency{ user = function() return 1 end, hours = 1 })
app.use("/strict", app.idempotency{ user = function(req) time.sleep(0.001) return 7 end, required = true })

local function order(req)
  db.exec("INSERT INTO orders (user, item) VALUES (?, ?)", { req.state.user or "none", req.body })
  req:set_cookie("seen", "1")
  return app.json({ made = run("order") }, { status = 201, headers = { Location = "/orders/1" } })
end
app.post("/api/orders", order)
app.put("/api/orders", order)
app.get("/api/orders", function() return run("read") end)
app.get("/api/count", function() return tostring(db.one("SELECT count(*) AS n FROM orders").n) end)
app.post("/api/slow", function()
  cache.set("slow", 1)
  while cache.get("go") == nil do time.sleep(0.002) end
  return run("slow")
end)
app.get("/api/wait", function()
  while cache.get("slow") == nil do time.sleep(0.002) end
  return "it runs"
end)
app.post("/api/go", function() cache.set("go", 1) end)
app.post("/api/fails", function() error(run("fails")) end)
app.post("/api/busy", function() return app.text(run("busy"), 503) end)
app.post("/api/conflict", function() return app.text(run("conflict"), 409) end)
app.post("/api/waits", function(req)
  order(req)
  time.sleep(0.001)
  return run("waits")
end)
app.post("/api/transaction", function()
  db.transaction(function(tx) tx:exec("INSERT INTO orders (user, item) VALUES ('t', 't')") end)
  return run("transaction")
end)
app.post("/api/late", function() return run("late") end)
app.post("/api/large", function() return run("large") .. ("x"):rep(1024 * 1024) end)
app.post("/strict", function() return run("strict") end)
app.get("/keys", function()
  return db.query([[SELECT count(*) AS n, max(length(id)) AS id FROM _sampan_idempotency
    WHERE instr(body, 'strict') > 0]])
end)
