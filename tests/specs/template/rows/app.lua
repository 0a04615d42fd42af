local app = require "sampan"

local heir = { name = "inherited", on = true }
local odd = {
  { id = 1, name = "a<b", on = true },
  { id = 2.5, name = "B" },
  setmetatable({ id = 3 }, { __index = heir }),
  { id = "four", name = "Cé", on = "" },
  { id = -5, name = "text of more than sixteen bytes & more", on = 0 },
  setmetatable({ id = 6, on = "yes" }, { __index = function(_, key) return key .. " of a call" end }),
  { id = 7, name = "x", on = true },
}

local many = {}
for id = 1, 600 do
  many[id] = { id = id, name = "<" .. id .. ">", marked = id % 128 < 2 }
end

app.get("/odd", function() return app.render("odd.html", { rows = odd }) end)
app.get("/many", function() return app.render("many.html", { rows = many }) end)
