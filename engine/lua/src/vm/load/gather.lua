-- `app.gather`: functions of one handler that wait at the same time. Called once by the prelude.
--
-- Each function has a coroutine of its own. Its wait is kept by the host, and the coroutine that called `app.gather` waits until one of these
-- waits has ended. So one function runs at a time, in the run of the handler. Places are counted from 0.
local G, host, app, no_colon = ...

local error, select, unpack, xpcall = G.error, G.select, G.unpack, G.xpcall
local create, status = G.coroutine.create, G.coroutine.status
local resume, HOST = host.resume, host.mark
local note_raised, take_raised, give_raised = host.note_raised, host.take_raised, host.give_raised

local YIELDED = "app.gather: a function yielded outside of a coroutine of its own"

-- Runs a function on until it waits again or has ended. The first failure is kept, with the note of where the error was raised.
local function run(all, at, ...)
  local co = all.coroutines[at]
  local is_alive, ok, value = resume(co, ...)
  if is_alive and ok == HOST then
    host.keep_wait(all.number, at)
    all.waits[at], all.waiting = true, all.waiting + 1
    return
  end
  if not is_alive then
    ok, value = false, ok
  elseif status(co) ~= "dead" then
    ok, value = false, YIELDED
  end
  if ok then
    all.results[at + 1] = value
  elseif not all.has_failed then
    all.has_failed, all.err = true, value
    all.file, all.line, all.stack = take_raised(value)
  end
end

-- The wait of a function has ended.
local function go_on(all, at, ...)
  all.waits[at], all.waiting = false, all.waiting - 1
  run(all, at, ...)
end

-- Ends all waits with an error: that of the request, or another function has failed. A function may wait again, to clean up.
local function cancel(all, err)
  all.is_cancelled = true
  for at = 0, all.count - 1 do
    if all.waits[at] then
      host.drop_wait(all.number, at)
      go_on(all, at, false, err or host.gather_cancelled(all.coroutines[at]))
    end
  end
end

function app.gather(...)
  if (...) == app then no_colon("app.gather") end
  local count = select("#", ...)
  if count > host.gathered_max then
    error("app.gather: it takes at most " .. host.gathered_max .. " functions, not " .. count, 2)
  end
  for at = 1, count do host.check("app.gather", "function", "argument " .. at, (select(at, ...))) end
  local all = { number = host.open_gather(count), count = count, coroutines = {}, waits = {}, waiting = 0, results = {} }
  for at = 0, count - 1 do
    local fn = select(at + 1, ...)
    all.coroutines[at] = create(function() return xpcall(fn, note_raised) end)
    run(all, at)
    if all.has_failed then break end
  end
  while all.waiting > 0 do
    if all.has_failed and not all.is_cancelled then
      cancel(all)
    else
      local ok, value = host.wait_gather(all.number)
      local at = host.ended_wait(all.number)
      if at then go_on(all, at, ok, value) else cancel(all, value) end
    end
  end
  host.close_gather(all.number)
  if all.has_failed then
    if all.stack then give_raised(all.err, all.file, all.line, all.stack) end
    error(all.err, 0)
  end
  return unpack(all.results, 1, count)
end
