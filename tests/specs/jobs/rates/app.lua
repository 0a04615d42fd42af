local app = require "sampan"
local db = app.db

app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS done (queue TEXT)") end)
local function note(queue) db.exec("INSERT INTO done VALUES (?)", { queue }) end

app.job("slow", { queue = "slow" }, note)

app.post("/slow", function()
  for _ = 1, 5 do app.enqueue("slow", "slow") end
end)
-- Each attempt is a start.
app.job("again", { queue = "again", attempts = 5, backoff = 0 }, function() error("once more") end)
app.post("/again", function() app.enqueue("again") end)
app.get("/again", function() return db.one("SELECT state, attempt FROM _sampan_jobs WHERE name = 'again'") end)
-- Each adds the next.
app.job("chain", function(left)
  note("chain")
  if left > 1 then app.enqueue("chain", left - 1) end
end)
app.post("/chain", function() app.enqueue("chain", 20) end)
app.get("/done", function()
  return db.query("SELECT queue, count(*) AS count FROM done GROUP BY queue ORDER BY queue")
end)
