-- Thumbnails, made by a job. Scripts have no library for pictures, so only a format without compression gets one: BMP.
local app = require "sampan"
local db, files = app.db, app.files
local floor, min, max = math.floor, math.min, math.max

local BYTES_MAX = 5 * 1000 * 1000 -- of a picture that gets a thumbnail
local SIDE_MAX = 160 -- of a thumbnail, in pixels
local SAMPLES = 4 -- in each direction: a pixel is the mean of so many times so many

local function u16(bytes, at) local low, high = bytes:byte(at + 1, at + 2) return low + high * 256 end
local function u32(bytes, at) return u16(bytes, at) + u16(bytes, at + 2) * 65536 end
local function to_u16(number) return string.char(number % 256, floor(number / 256) % 256) end
local function to_u32(number) return to_u16(number) .. to_u16(floor(number / 65536)) end

-- Reads the head of a BMP: where a pixel of column and row lies, the width and the height. Or nothing, and why not.
local function read_head(bmp)
  if #bmp < 54 or bmp:sub(1, 2) ~= "BM" then return nil, "only BMP pictures get one" end
  local start, width, height, bits = u32(bmp, 10), u32(bmp, 18), u32(bmp, 22), u16(bmp, 28)
  local is_top_first = height >= 2 ^ 31 -- a negative height; other pictures begin with the lowest row
  if is_top_first then height = 2 ^ 32 - height end
  if (bits ~= 24 and bits ~= 32) or u32(bmp, 30) ~= 0 then
    return nil, "only BMP pictures with 24 or 32 bits per pixel and without compression get one"
  end
  local row_bytes = floor((bits * width + 31) / 32) * 4
  if width == 0 or height == 0 or start + row_bytes * height > #bmp then return nil, "the picture is damaged" end
  return function(column, row)
    column, row = min(column, width - 1), min(row, height - 1)
    return start + (is_top_first and height - 1 - row or row) * row_bytes + column * bits / 8
  end, width, height
end

-- The mean of the samples that make a pixel of the thumbnail: three bytes, as BMP has them.
local function mean(bmp, at, column, row, scale)
  local blue, green, red = 0, 0, 0
  for y = 0, SAMPLES - 1 do
    for x = 0, SAMPLES - 1 do
      local place = at(floor((column + x / SAMPLES) * scale), floor((row + y / SAMPLES) * scale))
      local b, g, r = bmp:byte(place + 1, place + 3)
      blue, green, red = blue + b, green + g, red + r
    end
  end
  local count = SAMPLES * SAMPLES
  return string.char(floor(blue / count), floor(green / count), floor(red / count))
end

-- A small BMP of a large one. Or nothing, and why not.
local function shrink(bmp)
  local at, width, height = read_head(bmp)
  if not at then return nil, width end
  local scale = max(1, width / SIDE_MAX, height / SIDE_MAX)
  local columns, rows = max(1, floor(width / scale)), max(1, floor(height / scale))
  local pixels = {}
  for row = 0, rows - 1 do
    for column = 0, columns - 1 do pixels[#pixels + 1] = mean(bmp, at, column, row, scale) end
    pixels[#pixels + 1] = ("\0"):rep(-columns * 3 % 4) -- a row ends at a multiple of four bytes
    app.time.sleep(0) -- other jobs of this thread go on
  end
  local body = table.concat(pixels)
  return "BM" .. to_u32(54 + #body) .. to_u32(0) .. to_u32(54) .. to_u32(40) .. to_u32(columns) .. to_u32(rows)
    .. to_u16(1) .. to_u16(24) .. to_u32(0) .. to_u32(#body) .. ("\0"):rep(16) .. body
end

app.job("thumbnail", { timeout = "30 s" }, function(args)
  local note = db.one("SELECT user_id FROM notes WHERE image = ?", { args.image })
  if not note then return end -- it was deleted, or has another picture by now
  local made, reason
  if files.stat("images/" .. args.image).size > BYTES_MAX then
    reason = "the picture has more than 5 MB"
  else
    made, reason = shrink(files.bytes("images/" .. args.image))
  end
  if made then files.write("thumbnails/" .. args.image, made) end
  db.exec("UPDATE notes SET has_thumbnail = ?, no_thumbnail = ? WHERE image = ?",
    { made and 1 or 0, reason or app.null, args.image })
  app.publish("notes:" .. note.user_id, "thumbnail")
end)
