local app = require "sampan"

app.get("/pets/:n", function(req) return req:t("owner.pets", { n = tonumber(req.params.n) }) end)
app.get("/hello", function(req) return req:t("hello", { name = req.query.name or "you" }) end)
app.get("/key", function(req) return req:t(req.query.key) end)
app.get("/braces", function(req) return req:t("braces", { n = 1234.5 }) end)
app.get("/lacking", function(req) return req:t("hello") end)
app.get("/list", function(req) return req:t("hello", { name = { 1 } }) end)
app.get("/word", function(req) return req:t("owner.pets", { n = "three" }) end)
app.get("/mail", function() return app.i18n.t("de-CH", "hello", { name = "Ann" }) end)
app.get("/unknown", function() return app.i18n.t("xx", "hello") end)
app.get("/locales", function() return app.i18n.locales() end)
