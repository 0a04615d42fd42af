local app = require "sampan"
local cache, time = app.cache, app.time

local function sized(fn, length) return app.stream(fn, { headers = { ["content-length"] = length } }) end

-- Its client has the whole before the function ends: what it waits for comes after that.
app.get("/waits", function()
  return sized(function(write)
    write("ab")
    write("c")
    while not cache.get("go") do time.sleep(0.002) end
  end, "3")
end)
app.get("/go", function() cache.set("go", true) end)
