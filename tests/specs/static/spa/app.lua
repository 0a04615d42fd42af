local app = require "sampan"

app.get("/api/items", function() return { 1 } end)
app.post("/api/items", function() return { 2 } end)
app.post("/only-post", function() return { 3 } end)
app.not_found(function() return { missing = true } end)
