local app = require "sampan"

local attacks = {
  "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onmouseover='alert(1)", "</title><script>x</script>",
  "javascript:alert(1)", "<svg/onload=alert(1)>", "&lt;script&gt;", "</script><script>alert(1)</script>", "{{ 7*7 }}{% raw %}",
  "<!-- -->", "\\u003cscript\\u003e", "a\0b", "<\xc3\xa4>", "<b",
}
app.get("/html", function() return app.render("page.html", { attacks = attacks }) end)
app.get("/svg", function() return app.render("badge.svg", { text = "\"><script>alert(1)</script>" }) end)
app.get("/link", function() return app.render("link.html", { url = "javascript:alert(1)" }) end)
app.get("/bytes", function() return app.render("page.html", { attacks = { "\xff<\xc3" } }) end)
app.get("/joined", function() return app.render("joined.html", { text = "<i>" }) end)
