local app = require "sampan"
local cache, db, time = app.cache, app.db, app.time

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT)")

local LONG = ("all work and no play "):rep(40)

-- Which run of the handler has made an answer.
local function run(name) return name .. " " .. cache.incr("runs:" .. name) end
local function with(name, headers)
  return function() return app.text(run(name), { headers = headers }) end
end

app.use(app.secure_headers{ csp = "script-src 'nonce-{nonce}'" })
app.use("/page/*", app.cached{ seconds = 600, query = { "page" }, vary = { "X-Tenant" }, ignore_cookies = { "_ga" } })
-- The outermost one counts.
app.use("/page/counted", app.cached{ seconds = 1 })
app.use("/short", app.cached{ seconds = 0.05 })
app.use("/page/inside", function(req, next)
  local res = next(req)
  res.headers["x-inside"] = run("inside")
  return res
end)

app.all("/page/counted", function() return run("counted") end)
app.get("/page/inside", function() return "inner" end)
app.get("/page/slow", function()
  local made = run("slow")
  time.sleep(0.05)
  return made
end)
app.get("/page/written", function()
  db.exec("INSERT INTO t (name) VALUES ('a')")
  return run("written")
end)
app.get("/page/rolled", function()
  local made = run("rolled")
  pcall(db.batch, function()
    db.exec("INSERT INTO t (name) VALUES ('b')")
    error("rolled back")
  end)
  return made
end)
app.get("/page/json", function() return { made = run("json") } end)
app.get("/page/missing", function() return app.text(run("missing"), 404) end)
app.get("/page/fails", function() error(run("fails")) end)
app.get("/page/refused", function() return app.text(run("refused"), 403) end)
app.get("/page/etag", { etag = true }, function() return app.text(run("etag"), { headers = { ETag = '"v1"' } }) end)
app.get("/page/long", function() return run("long") .. LONG end)
app.get("/page/cookie", function(req)
  req:set_cookie("seen", "1")
  return run("cookie")
end)
app.get("/page/nonce", function(req) return run("nonce") .. (req.csp_nonce and "" or "none") end)
app.get("/page/private", with("private", { ["Cache-Control"] = "max-age=60, Private" }))
app.get("/page/store", with("store", { ["Cache-Control"] = "no-store" }))
app.get("/page/agent", with("agent", { Vary = "User-Agent" }))
app.get("/page/tenant", with("tenant", { Vary = "X-Tenant, Accept" }))
app.get("/page/large", function() return run("large") .. ("x"):rep(1024 * 1024) end)
app.get("/page/file", function() return app.file("notes.txt", { folder = "files" }) end)
app.get("/short", function() return run("short") end)
