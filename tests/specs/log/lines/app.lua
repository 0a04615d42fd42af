local app = require "sampan"

app.get("/", function()
  app.log.debug("fine print")
  app.log.info("plain message")
  app.log.warn("with fields", { user = "ann" })
  app.log.error({ code = 7 })
  app.log.info("two\nlines", { note = "a b" })
  app.log.info("twice", { n = 1.5, yes = true })
  return "logged"
end)
app.get("/print", function()
  print("printed text")
  return "printed"
end)
