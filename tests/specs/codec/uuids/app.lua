local app = require "sampan"
local codec = app.codec

local function form(id, version)
  return id:match("^%x+%-%x%x%x%x%-" .. version .. "%x%x%x%-[89ab]%x%x%x%-%x+$") ~= nil and #id == 36
end

app.get("/", function()
  local sorted, last = true, ""
  for _ = 1, 5000 do
    local id = codec.uuid_v7()
    sorted, last = sorted and id > last, id
  end
  local millis = tonumber(last:sub(1, 8) .. last:sub(10, 13), 16)
  return {
    v4 = form(codec.uuid_v4(), "4"), v7 = form(last, "7"), differ = codec.uuid_v4() ~= codec.uuid_v4(), sorted = sorted,
    now = math.abs(millis - app.time.now() * 1000) < 5000,
  }
end)
