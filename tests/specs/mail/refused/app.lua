local app = require "sampan"

local function refused(change)
  local parts = { to = "ann@example.org", from = "app@example.com", subject = "Hello", text = "x" }
  for name, value in pairs(change) do parts[name] = value end
  local ok, err = pcall(app.mail.source, parts)
  return ok and "sent" or tostring(err)
end

app.get("/", function()
  return {
    refused { subject = "Hello\r\nBcc: x@example.org" },
    refused { subject = "Hello\nBcc: x@example.org" },
    refused { to = "ann@example.org\r\nBcc: x@example.org" },
    refused { from = { name = "A\nB", address = "app@example.com" } },
    refused { headers = { ["X-A"] = "1\r\nX-B: 2" } },
    refused { headers = { ["X-A: 1\r\nX-B"] = "2" } },
    refused { headers = { bcc = "x@example.org" } },
    refused { attachments = { { name = "a\r\nb", content = "x" } } },
    refused { inline = { { name = 'x>";y.png', content = "x" } } },
    refused { inline = { { name = "a.png", content = "x" }, { name = "b c.png", content = "x" } } },
    refused { to = "nobody" },
    refused { to = {} },
    refused { attachments = { { name = "a" } } },
    refused { attachments = { { name = "a", content = "x", content_type = "none" } } },
    refused { template = "welcome" },
    refused { data = {} },
    refused { priority = 1 },
    refused { text = ("x"):rep(3000) },
  }
end)
