local app = require "sampan"
local chunk, fault = load(text, "@" .. path, "t")
if not chunk then error(fault, 0) end
local made = chunk()
if type(made) == "function" then made = { [stem] = made } end
if type(made) ~= "table" then
  error("a file of previews returns a function, or a table of functions by their names", 0)
end
local names = {}
for name, fn in pairs(made) do
  if type(name) == "string" and type(fn) == "function" then names[#names + 1] = name end
end
table.sort(names)
for _, name in ipairs(names) do
  app.previews.declare(name, function() app.mail.send(made[name]()) end)
end
