local app = require "sampan"
local db = app.db

app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS done (id INTEGER, line TEXT)") end)
local function note(line) db.exec("INSERT INTO done (id, line) SELECT count(*), ? FROM done", { line }) end

app.job("third", { backoff = 0.005 }, function(_, job)
  note("attempt " .. job.attempt)
  if job.attempt < 3 then error("not yet") end
end)
app.job("dead", { attempts = 2, backoff = 0 }, function(args)
  if args == "text" then error("a text", 0) end
  if args == "table" then error({ code = 7 }) end
  if args == "nothing" then error(nil) end
  error("broken")
end)
app.job("again", { backoff = "1 h", attempts = 3 }, function(_, job)
  note("again " .. job.attempt)
  if job.attempt == 1 then job:retry_in(0.001) error("soon") end
  if job.attempt == 2 then job:retry_in("1 ms") end
end)
local kept
app.job("keep", function(_, job)
  if kept then
    local ok, err = pcall(kept.progress, kept, 1)
    note(tostring(ok) .. " " .. tostring(err):match("this Job is over"))
  end
  local ok, err = pcall(function() job.other = 1 end)
  note(tostring(ok) .. " " .. tostring(err):match("only read"))
  ok, err = pcall(function() job:set("id", 1) end)
  note(table.concat(job:keys(), " ") .. " " .. job:get("attempt") .. " " .. tostring(ok))
  job:progress(50, "half")
  kept = job
end)

app.post("/add/:name", function(req) app.enqueue(req.params.name, req.query.args) end)
app.get("/done", function()
  local lines = app.json.array {}
  for i, row in ipairs(db.query("SELECT line FROM done ORDER BY id")) do lines[i] = row.line end
  return lines
end)
app.get("/waiting", function()
  return #db.query("SELECT id FROM _sampan_jobs WHERE name = 'keep' AND ended IS NULL")
end)
app.post("/clear", function() db.exec("DELETE FROM done") end)
app.get("/dead", function()
  local rows, errors = db.query("SELECT errors FROM _sampan_jobs WHERE state = 'dead'"), {}
  for i, row in ipairs(rows) do errors[i] = row.errors end
  return { count = #rows, errors = table.concat(errors, ",") }
end)
