local app = require "sampan"

local function refuse() return app.text("no", 401) end
app.use("/@admin/*", refuse)
app.use("/report.csv", refuse)
app.use("/secret/index.html", refuse)
app.use("/docs/", refuse)
app.use("/100%25/*", refuse)
app.use("/@team/*", refuse)
app.get("/:who/*rest", function(req) return req.params.who .. " " .. req.params.rest end)
