local app = require "sampan"
local db = app.db

app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS done (line TEXT)") end)

local thrown = {
  nothing = function() error(nil) end,
  boolean = function() error(false, 0) end,
  number = function() error(7.5, 0) end,
  text = function() error("a text", 0) end,
  table = function() error({ code = 7 }) end,
  array = function() error(app.json.array { 1, "two" }) end,
  cycle = function()
    local cycle = {}
    cycle.cycle = cycle
    error(cycle)
  end,
  function_ = function() error(print) end,
  converts = function() error(setmetatable({}, { __tostring = function() return "converted" end })) end,
  throws = function() error(setmetatable({}, { __tostring = function() error("again") end })) end,
  spins = function() error(setmetatable({}, { __tostring = function() while true do end end })) end,
  long = function() error(string.rep("long ", 1000000), 0) end,
  zero = function() error("a\0b", 0) end,
  overflow = function()
    local function deeper() return 1 + deeper() end
    deeper()
  end,
}
for name, fn in pairs(thrown) do app.job(name, { attempts = 1, timeout = "1s" }, fn) end
app.job("fine", function(args) db.exec("INSERT INTO done VALUES (?)", { args }) end)

app.post("/all", function()
  for name in pairs(thrown) do app.enqueue(name) end
  app.enqueue("fine", "goes on")
end)
app.get("/dead", function()
  local dead = {}
  for _, row in ipairs(db.query("SELECT name, errors FROM _sampan_jobs WHERE state = 'dead'")) do
    local errors = app.json.decode(row.errors)
    dead[row.name] = { #errors, errors[1].attempt, #errors[1].error < 2100 and errors[1].error:sub(1, 60) }
  end
  return dead
end)
app.get("/done", function() return db.query("SELECT line FROM done") end)
