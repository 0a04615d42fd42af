local app = require "sampan"

app.get("/", function(req)
  req:early_hints{ "</app.css>; rel=preload; as=style" }
  app.time.sleep(0.01)
  return "page"
end)
app.get("/wrong", function(req) req:early_hints{ "a\r\nb" } end)
