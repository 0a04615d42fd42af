local app = require "sampan"
local exec = app.exec

local function print(...)
  local texts = {}
  for at = 1, select("#", ...) do texts[at] = tostring((select(at, ...))) end
  exec.write(table.concat(texts, "\t"))
end

local function exit(status)
  if status == nil or status == true then status = 0 end
  if status == false then status = 1 end
  if type(status) ~= "number" or status % 1 ~= 0 then
    error("os.exit: the status must be an integer from 0 to 255, such as 1", 2)
  end
  -- The system keeps the lowest eight bits.
  exec.set_status(status % 256)
  exec.exit()
end

app.get("/.exec", function() end)
app.on_start(function()
  exec.run(function()
    local script = exec.script()
    _G.print, os.exit = print, exit
    local chunk, fault = load(script.text, "@" .. script.name, "t")
    if not chunk then error(fault, 0) end
    chunk(unpack(script.args))
  end)
end)
