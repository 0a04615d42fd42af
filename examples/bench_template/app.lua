-- What `cargo xtask bench template` measures: pages rendered from templates.
local app = require "sampan"

-- The rows are made once: what is measured is the rendering of them.
local items = {}
for id = 1, 50 do
  local name = id % 10 == 0 and "Nuts & bolts" or "Item"
  items[id] = { id = id, name = name .. " " .. id, active = id % 3 ~= 0 }
end

app.get("/simple", function()
  return app.render("simple.html", { title = "Simple", heading = "Hello, <world>" })
end)

app.get("/loop", function()
  return app.render("loop.html", { title = "Loop", items = items })
end)

app.get("/full", function()
  return app.render("full.html", { title = "Stock", user = "ada", count = #items, items = items })
end)
