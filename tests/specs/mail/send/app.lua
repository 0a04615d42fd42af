local app = require "sampan"

local MAIL = { to = "a@example.org", from = "b@example.org", subject = "x", text = "x" }

app.post("/send", function() app.mail.send(MAIL) end)
app.post("/refused", function() app.mail.send { to = "a@example.org\nBcc: b@example.org", from = "b@example.org", text = "x" } end)
app.post("/no_from", function() app.mail.send { to = "a@example.org", text = "x" } end)
