-- Quick routes beside slow ones, as measured by `cargo xtask bench load`:  sampan run examples/bench_load/app.lua
local app = require "sampan"

-- Of "over the water".
local HASH = "$argon2id$v=19$m=19456,t=2,p=1$GVZ5XdcP/cXjUxGUptRElA$qG0A4sFY3fCgXpSj2L8Tj+cuYwKizKMhYtD/jSlCNCY"

-- So many steps of a generator of numbers: every server computes the same.
local function compute(req)
  local x = 1
  for _ = 1, tonumber(req.params.steps) do
    x = (x * 16807) % 2147483647
  end
  return { x = x }
end

app.get("/quick", function() return { status = "ok" } end)

app.get("/burn/:steps", compute)
app.get("/work/:steps", compute)

app.post("/login", function() return { ok = app.password.verify("over the water", HASH) } end)

app.get("/rows", function()
  local rows, sum = app.db.query("SELECT id, n FROM numbers"), 0
  for _, row in ipairs(rows) do
    sum = sum + row.n
  end
  return { rows = #rows, sum = sum }
end)
