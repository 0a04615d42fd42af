-- Lists are shown in pages of five.
local app = require "sampan"
local ROWS = 5

-- Which part of a list of `count` rows a request asks for. A page that does not exist is the nearest that does.
return function(req, count)
  local last = math.max(1, math.ceil(count / ROWS))
  local asked = tonumber((app.first(req.query.page) or "1"):match("^%d+$")) or 1
  local page = math.min(math.max(asked, 1), last)
  return { page = page, last = last, limit = ROWS, offset = (page - 1) * ROWS }
end
