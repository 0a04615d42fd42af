local app = require "sampan"

app.get("/", function(req) return req:t("a") .. req.locale end)
