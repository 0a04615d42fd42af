local app = require "sampan"
local files = app.files

app.get("/write", function()
  files.write("a/b/note.txt", "hello")
  files.append("a/b/note.txt", " world")
  files.append("log", "1\n")
  return { text = files.read("a/b/note.txt"), same = files.read_async("log"), bytes = #files.bytes("log") }
end)
app.get("/replace", function()
  files.write("a/b/note.txt", "new")
  return files.read("a/b/note.txt")
end)
app.get("/look", function()
  local stat = files.stat("log")
  local age = app.time.now() - stat.modified
  return {
    all = files.list(), sub = files.list("a/b"), type = stat.type, size = stat.size, fresh = age > -5 and age < 60,
    folder = files.stat("a").type, nothing = files.stat("none") == nil, there = files.exists("a"), absent = files.exists("none"),
  }
end)
app.get("/move", function()
  files.rename("log", "old/log")
  files.mkdir("empty/inner")
  return { files.exists("log"), files.read("old/log"), files.remove("empty/inner"), files.remove("empty/inner"), files.list("empty") }
end)
app.get("/bytes", function()
  files.write("raw", "\0\255x")
  local raw = files.bytes("raw")
  return { #raw, raw:byte(1), raw:byte(2) }
end)
app.get("/large", function()
  files.write("large", ("x"):rep(300000))
  return { #files.read_async("large"), #files.bytes("large") }
end)
app.get("/inline", function() return #files.read("large") end)
