local app = require "sampan"
local db = app.db
local LONG = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?) SELECT count(*) AS n FROM n"

app.get("/long/:n", function(req) return db.query(LONG, { tonumber(req.params.n) }) end)
app.get("/one/:n", function(req) return db.one(LONG, { tonumber(req.params.n) }) end)
app.get("/explicit/:n", function(req) return db.query_async(LONG, { tonumber(req.params.n) }) end)
app.get("/explicit-one/:n", function(req) return db.one_async(LONG, { tonumber(req.params.n) }) end)
app.get("/write-async", function() return db.query_async("CREATE TABLE x (a INTEGER)") end)
app.get("/quick", function() return "quick" end)
