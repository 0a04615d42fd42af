local app = require "sampan"
local exec = app.exec

local function print(...)
  local texts = {}
  for at = 1, select("#", ...) do texts[at] = tostring((select(at, ...))) end
  exec.write(table.concat(texts, "\t"))
end

app.get("/.exec", function() end)
app.on_start(function()
  exec.run(function()
    local script = exec.script()
    _G.print = print
    local chunk, fault = load(script.text, "@" .. script.name, "t")
    if not chunk then error(fault, 0) end
    chunk(unpack(script.args))
  end)
end)
