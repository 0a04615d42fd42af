local app = require "sampan"
local t, db, files = app.t, app.db, app.files

local hash -- made once for all tests, because it takes long

t.before_each(function()
  hash = hash or app.password.hash("correct horse")
  db.exec("INSERT INTO users (email, password, is_confirmed, invited_at) VALUES ('ann@example.org', ?, 1, 0)", { hash })
  t.post("/login", { form = { email = "ann@example.org", password = "correct horse" } })
end)

local function u32(number)
  return string.char(number % 256, math.floor(number / 256) % 256, math.floor(number / 65536) % 256, 0)
end

-- A BMP of 24 bits per pixel: a chessboard of red and blue, whose squares have `side` pixels.
local function picture(width, height, side)
  local rows = {}
  for y = 0, height - 1 do
    for x = 0, width - 1 do
      local is_red = (math.floor(x / side) + math.floor(y / side)) % 2 == 0
      rows[#rows + 1] = is_red and "\0\0\255" or "\255\0\0"
    end
    rows[#rows + 1] = ("\0"):rep(-width * 3 % 4)
  end
  local body = table.concat(rows)
  return "BM" .. u32(54 + #body) .. u32(0) .. u32(54) .. u32(40) .. u32(width) .. u32(height) .. "\1\0\24\0" .. u32(0)
    .. u32(#body) .. ("\0"):rep(16) .. body
end

-- Saves a note with a picture.
local function save(path, content)
  local image = { content = content, filename = "a", type = "application/octet-stream" }
  local answer = t.post(path, { form = { title = "Garden", body = "Tulips", image = image } })
  t.equal(answer.status, 303)
  return answer.headers.location
end

t.test("a picture gets a thumbnail by a job", function()
  local content = picture(640, 320, 4)
  local note = save("/notes/new", content)
  t.equal(t.get(note .. "/image").body, content)
  t.equal(t.get(note .. "/thumbnail").status, 404)
  t.equal(t.get("/").html:count(".card img"), 0)
  t.equal(t.run_jobs().ran, 1)
  t.equal(t.get("/").html:count(".card img"), 1)
  local small = t.get(note .. "/thumbnail")
  t.equal(small.headers["content-type"], "image/bmp")
  t.equal(small.body, picture(160, 80, 1))
end)

t.test("a small picture stays as it is", function()
  local content = picture(3, 2, 1)
  local note = save("/notes/new", content)
  t.run_jobs()
  t.equal(t.get(note .. "/thumbnail").body, content)
end)

t.test("a picture that cannot get a thumbnail says why", function()
  local damaged = picture(640, 320, 4):sub(1, 1000)
  local large = picture(3, 2, 1) .. ("\0"):rep(5000000)
  for content, reason in pairs {
    ["\137PNG\r\n\26\n and so on"] = "only BMP pictures get one",
    [damaged] = "the picture is damaged",
    [large] = "the picture has more than 5 MB",
    [(picture(3, 2, 1):gsub("\1%z\24%z", "\1\0\8\0"))] = "with 24 or 32 bits per pixel and without compression",
  } do
    local note = save("/notes/new", content)
    t.run_jobs()
    t.contains(t.get(note).html:text("main"), reason)
    t.equal(t.get(note .. "/thumbnail").status, 404)
  end
end)

t.test("another picture replaces the files of the first, and a deleted note leaves none", function()
  local note = save("/notes/new", picture(3, 2, 1))
  t.run_jobs()
  save(note .. "/edit", picture(2, 2, 1))
  t.run_jobs()
  t.equal(t.get(note .. "/thumbnail").body, picture(2, 2, 1))
  t.equal({ #files.list("images"), #files.list("thumbnails") }, { 1, 1 })
  t.post(note .. "/delete")
  t.equal({ #files.list("images"), #files.list("thumbnails") }, { 0, 0 })
end)

t.test("a job of a picture that is gone does nothing", function()
  app.enqueue("thumbnail", { image = "gone" })
  t.equal(t.run_jobs().ran, 1)
  t.ok(not files.exists("thumbnails/gone"))
end)

t.test("a note has one picture", function()
  local image = { content = picture(3, 2, 1), filename = "a", type = "image/bmp" }
  local answer = t.post("/notes/new", { form = { title = "Garden", body = "Tulips", image = { image, image } } })
  t.equal(answer.status, 422)
  t.contains(answer.html:text("#image-error"), "Choose one picture")
end)

t.test("control characters divide tags", function()
  local answer = t.post("/notes/new", { form = { title = "Garden", body = "Tulips", tags = "\0 home\1spring \127" } })
  local page = t.get(answer.headers.location).html
  t.equal({ page:count(".tags a"), page:text(".tags a") }, { 2, "home" })
end)
