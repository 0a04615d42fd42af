local app = require "sampan"

app.sse("/events/:name", function(req, events)
  events:send("hello " .. req.params.name)
  events:send{ event = "more", data = { list = app.json.array {}, n = 1 }, id = "7", retry = 1500 }
  events:send{ data = "two\nlines" }
  events:comment("not seen")
  events:send{ id = 8 }
end)

app.sse("/last", { name = "last" }, function(req, events)
  events:send(tostring(events.last_id))
  events:send(events:get("last_id") or "none")
  events:send(table.concat(events:keys(), " "))
end)

app.get("/by-name", function() return app.url_for("last") end)

app.get("/answer", function(req)
  if req.query.refuse then return app.text("no", 403) end
  return app.sse(function(events)
    app.time.sleep(0.001)
    events:send("later")
    events:close()
  end, { headers = { ["X-Own"] = "yes", ["cache-control"] = "public" } })
end)

app.group("/api", function(api)
  api.sse("/", function(req, events) events:send("in a group") end)
end)

-- Nothing is kept in a variable where each request has its own.
app.sse("/compressed", { compress = true }, function(req, events)
  events:send(("x"):rep(100))
  app.time.sleep(0.001)
  events:send("end")
end)

app.sse("/silent", function() end)
