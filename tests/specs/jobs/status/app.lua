local app = require "sampan"
local db, time = app.db, app.time

app.job("count", { attempts = 1 }, function(_, job)
  job:progress(50, "half")
  -- It is written soon, apart from the job.
  local seen
  repeat
    time.sleep(0.005)
    seen = app.job_status(job.id)
  until seen.progress == 50
  assert(seen.state == "running" and seen.attempts == 1 and seen.progress_text == "half")
  assert(seen.started >= seen.added and seen.ended == nil)
end)
app.job("fail", { attempts = 2, backoff = 0 }, function(_, job) error("attempt " .. job.attempt, 0) end)
app.job("steps", function(_, job)
  for percent = 10, 100, 10 do job:progress(percent, percent .. " %") end
end)
app.job("wait", { queue = "others" }, function() end)

local function shown(job)
  return {
    state = job.state,
    name = job.name,
    queue = job.queue,
    attempts = job.attempts,
    has_begun = job.started ~= nil,
    has_ended = job.ended ~= nil,
    error = job.error or "none",
  }
end

app.post("/add/:name", function(req) app.enqueue(req.params.name) end)
app.get("/status/:name", function(req)
  local row = db.one("SELECT id FROM _sampan_jobs WHERE name = ?", { req.params.name })
  return shown(app.job_status(row.id))
end)
app.get("/progress", function()
  local row = db.one("SELECT id FROM _sampan_jobs WHERE name = 'steps'")
  local job = app.job_status(row.id)
  return { state = job.state, progress = job.progress, text = job.progress_text }
end)
app.post("/wait", function()
  local id = app.enqueue("wait", nil, { delay = "1 h" })
  local job = app.job_status(id)
  local answer = shown(job)
  answer.delay = math.floor(job.due - job.added + 0.5)
  answer.is_now = math.abs(job.added - time.now()) < 600
  app.cancel_job(id)
  answer.after = shown(app.job_status(id))
  return answer
end)
app.post("/transaction", function()
  local states = {}
  db.transaction(function(tx)
    local id = tx:enqueue("wait", nil, { delay = "1 h" })
    states.inside = app.job_status(id).state
  end)
  return states
end)
app.get("/unknown", function()
  for _, id in ipairs { 1, -5, 1.5, 1e300 } do
    if app.job_status(id) then return { is_nothing = false } end
  end
  return { is_nothing = app.job_status(0 / 0) == nil }
end)
app.get("/wrong", function()
  local _, err = pcall(app.job_status, "7")
  return tostring(err)
end)
