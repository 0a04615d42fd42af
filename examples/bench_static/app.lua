-- What `cargo xtask bench static` measures: the files that it puts into public/. None of them enters this script.
local app = require "sampan"

app.get("/health", function() return { status = "ok" } end)
