local app = require "sampan"
local mail = app.mail

local function source(parts)
  local text = mail.source(parts)
  return app.text((text:gsub("\r\n", "\n")))
end

app.get("/text", function()
  return source {
    to = "Ann <ann@example.org>",
    cc = { "bob@example.org", { name = "Größe", address = "c@example.org" } },
    bcc = "hidden@example.org",
    reply_to = "help@example.com",
    subject = "Hello",
    text = "Hello Ann\n",
    headers = { ["X-Campaign"] = "spring" },
  }
end)
app.get("/html", function()
  return source {
    to = { "ann@example.org" },
    from = { name = "Other", address = "other@example.com" },
    subject = "Hello",
    html = "<h1>Hello</h1><p>Read <a href=\"https://example.org/\">this</a>.</p><img src=\"cid:logo.png\">",
    inline = { { name = "logo.png", content = "\137PNG" } },
    attachments = { { name = "a.csv", content = "a,b\n" }, { name = "b", content = "x", content_type = "text/x-b" } },
  }
end)
