local app = require "sampan"
local runs = 0

app.use("/admin/*", function(req, next)
  if req.query.key ~= "let-me-in" then return app.text("no", 401) end
  local res = next(req)
  if req.query.change == "body" then
    return app.text("instead of " .. tostring(res.kind))
  elseif req.query.change == "none" then
    return app.text("")
  end
  runs = runs + 1
  res.headers["x-seen"] = res.status .. " " .. tostring(res.headers["content-type"])
  return res
end)
app.get("/runs", function() return runs end)
