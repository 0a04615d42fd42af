local app = require "sampan"

app.get("/:name", function(req)
  app.log.info('a\n"quoted"', { user = "ann", n = 1 })
  print("printed")
  if req.params.name == "boom" then error("boom") end
  return "logged"
end)
