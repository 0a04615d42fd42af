-- Runs middleware around a handler.
--
-- A file of its own, whose name tells where a handler begins on the stack: one that ends with `return db.query(...)` is gone from there when
-- the query fails, and the first line of the project is then the middleware's, which is not at fault.
local to_response, answer_of, unanswered, select, host = ...
local enter, leave, check_beside = host.enter_span, host.leave_span, host.check_beside

local function chain(req, fallback, handler, ...)
  local wraps, count = { ... }, select("#", ...)
  local function call(at, request)
    if at > count then
      if not handler then return unanswered(fallback) end
      -- Only what answers paths without a route is told of another status.
      if fallback ~= 200 then return answer_of(nil, handler(request, fallback)) end
      return answer_of(nil, handler(request))
    end
    local inside
    local function next(other)
      inside = call(at + 1, other or request)
      return inside
    end
    local result, beside = wraps[at](request, next)
    if beside ~= nil then check_beside(beside, wraps[at]) end
    if result == nil and inside then return inside end
    return to_response(result)
  end
  return call(1, req)
end

-- The same, with a span for each function. One that an error leaves ends with the span around it: a `pcall` here would
-- take the place of the error from the stack.
local function traced_chain(req, fallback, handler, ...)
  local wraps, count = { ... }, select("#", ...)
  local function call(at, request, around)
    if at > count then
      if not handler then return unanswered(fallback) end
      local span, answer = enter(req, at, around)
      if fallback ~= 200 then
        answer = answer_of(nil, handler(request, fallback))
      else
        answer = answer_of(nil, handler(request))
      end
      leave(req, span)
      return answer
    end
    local span, inside = enter(req, at, around)
    local function next(other)
      inside = call(at + 1, other or request, span)
      return inside
    end
    local result, beside = wraps[at](request, next)
    if beside ~= nil then check_beside(beside, wraps[at]) end
    leave(req, span)
    if result == nil and inside then return inside end
    return to_response(result)
  end
  return call(1, req)
end

return chain, traced_chain
