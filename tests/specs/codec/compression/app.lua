local app = require "sampan"
local codec = app.codec
local TEXT = ("hello "):rep(100)
-- A file of gzip that has nothing in it.
local EMPTY = codec.hex_decode("1f8b08000000000000ff03000000000000000000")

local function told(fn, ...)
  local ok, err = pcall(fn, ...)
  return ok and "taken" or (tostring(err):gsub("^.-:%d+: ", ""))
end

app.get("/same", function()
  local packed = codec.gzip(TEXT)
  return {
    #packed < 100, codec.gunzip(packed) == TEXT, codec.inflate(codec.deflate(TEXT)) == TEXT,
    codec.inflate(codec.deflate(TEXT, { raw = true, level = 9 }), { raw = true }) == TEXT,
    codec.gunzip(codec.gzip("\0\255", { level = 0 })) == "\0\255", codec.gunzip(codec.gzip("one ") .. EMPTY) == "one ",
  }
end)
app.get("/damaged", function()
  local packed = codec.gzip(TEXT)
  return {
    codec.gunzip("hello") == nil, codec.gunzip("") == nil, codec.gunzip(packed:sub(1, -2)) == nil,
    codec.inflate(packed) == nil, codec.inflate(codec.deflate(TEXT, { raw = true })) == nil,
  }
end)
app.get("/bomb", function()
  local bomb = codec.gzip(("\0"):rep(17 * 1024 * 1024))
  local _, err = pcall(codec.gunzip, bomb)
  return { err.code, told(codec.gunzip, bomb, { bytes_max = 1000 }), #codec.gunzip(bomb, { bytes_max = 18000000 }) }
end)
app.get("/options", function()
  return {
    told(codec.gzip, "x", { level = 10 }), told(codec.gunzip, "x", { bytes_max = 0 }), told(codec.deflate, "x", { raw = 1 }),
    told(codec.gzip, "x", { size = 1 }),
  }
end)
