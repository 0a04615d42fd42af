-- Runs middleware around a handler.
--
-- A file of its own, whose name tells where a handler begins on the stack: one that ends with `return db.query(...)` is gone from there when
-- the query fails, and the first line of the project is then the middleware's, which is not at fault.
local to_response, of_handler, unanswered, select = ...

return function(req, fallback, handler, ...)
  local wraps, count = { ... }, select("#", ...)
  local function call(at, request)
    if at > count then
      if not handler then return unanswered(fallback) end
      -- Only what answers paths without a route is told of another status.
      if fallback ~= 200 then return of_handler(handler(request, fallback)) end
      return of_handler(handler(request))
    end
    local inside
    local function next(other)
      inside = call(at + 1, other or request)
      return inside
    end
    local result = wraps[at](request, next)
    if result == nil and inside then return inside end
    return to_response(result)
  end
  return call(1, req)
end
