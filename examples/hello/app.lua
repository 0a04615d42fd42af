-- The first steps with Sampan in Lua:  sampan run examples/hello/app.lua
local app = require "sampan"
local db = app.db

app.get("/health", function()
  return { status = "ok", runtime = app.runtime, version = app.version }
end)

app.get("/greet/:name", function(req)
  return { greeting = "Hello, " .. req.params.name }
end)

-- curl -d '{"greeting":"Ahoy"}' localhost:8080/greet/Ann
app.post("/greet/:name", function(req)
  local wish = req:json()
  if type(wish) ~= "table" or type(wish.greeting) ~= "string" then
    error({ status = 400, message = "greeting must be a string" })
  end
  return { greeting = wish.greeting .. ", " .. req.params.name }
end)

app.post("/echo", function(req) return req:json() end)

-- Not a function: a response that is computed once, at start.
app.get("/version", { version = "1.0" })

-- The table is made at start, by migrations/0001_visits.sql.
app.get("/", function(req)
  db.exec("INSERT INTO visits (path, ts) VALUES (?, ?)", { req.path, app.time.now() })
  return { message = "visit recorded" }
end)

app.get("/visits", function() return db.query("SELECT * FROM visits ORDER BY id DESC LIMIT 20") end)
