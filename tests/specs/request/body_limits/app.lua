local app = require "sampan"

local function count(req) return { bytes = #req.body } end
app.post("/general", count)
app.post("/small", { body_bytes_max = 10 }, count)
app.post("/large", { body_bytes_max = 5000 }, count)
app.post("/units", { body_bytes_max = "2 kB" }, count)
