local app = require "sampan"
local t, db, time = app.t, app.db, app.time

local ANN = { email = "ann@example.org", password = "correct horse" }

-- The path of the link in the newest mail.
local function link(mail)
  return mail.text:match("http://127%.0%.0%.1:8080(/%S+)")
end
local function newest() local mails = t.mails() return mails[#mails] end
local function token(path) return path:match("token=(%S+)") end

local function register()
  t.equal(t.post("/register", { form = ANN }).headers.location, "/sent")
  return link(newest())
end
local function confirm(path) return t.post("/confirm", { form = { token = token(path) } }) end
local function log_in(password)
  return t.post("/login", { form = { email = ANN.email, password = password or ANN.password } })
end

t.test("a mail asks to confirm, and only then one can log in", function()
  local path = register()
  t.equal(newest().to, { "ann@example.org" })
  t.equal(newest().subject, "Confirm your address")
  t.contains(newest().html, "confirm your address</a>")
  t.equal(log_in().headers.location, "/sent")
  t.equal(#t.mails(), 2, "the mail is sent again")
  t.contains(t.get(path).html:text("main"), "One step is left")
  t.equal(confirm(path).headers.location, "/login")
  t.contains(t.get("/login").html:text(".flash"), "is confirmed")
  t.equal(log_in().headers.location, "/")
  t.equal(t.get("/").html:text(".who"), "ann@example.org")
end)

t.test("a wrong password does not tell that it is not confirmed", function()
  register()
  local answer = log_in("wrong horse")
  t.equal(answer.status, 422)
  t.equal(answer.html:text("#password-error"), "Password does not fit the address")
end)

t.test("a link that was changed or is a day old confirms nothing", function()
  local path = register()
  t.equal(t.get(path .. "x").status, 410)
  t.equal(t.get("/confirm").status, 410)
  t.set_time(time.now() + 24 * 3600 + 1)
  t.equal(confirm(path).status, 410)
  t.equal(log_in().headers.location, "/sent")
end)

t.test("a link to confirm is none to choose a password", function()
  t.equal(t.get("/password?token=" .. token(register())).status, 410)
end)

t.test("an address that was not confirmed can be registered again, and the earlier link is worth nothing", function()
  local earlier = register()
  t.post("/register", { form = { email = "ANN@example.org", password = "another horse" } })
  t.equal(t.get(earlier).status, 410)
  confirm(link(newest()))
  t.equal(log_in().status, 422)
  t.equal(log_in("another horse").headers.location, "/")
end)

t.test("the page does not tell who has an account, and a mail does", function()
  confirm(register())
  t.equal(t.post("/register", { form = { email = ANN.email, password = "of someone else" } }).headers.location, "/sent")
  t.equal(newest().subject, "You have an account")
  t.equal(log_in().headers.location, "/")
  t.equal(t.post("/forgotten", { form = { email = "nobody@example.org" } }).headers.location, "/sent")
  t.equal(#t.mails(), 2)
end)

t.test("a forgotten password is replaced by a link, once", function()
  confirm(register())
  log_in()
  t.post("/forgotten", { form = { email = ANN.email } })
  t.equal(newest().subject, "Choose a new password")
  local path = link(newest())
  t.equal(t.get(path).html:count("#password"), 1)
  local form = { token = token(path), password = "short" }
  t.equal(t.post("/password", { form = form }).status, 422)
  form.password = "battery staple"
  t.equal(t.post("/password", { form = form, browser = "another" }).headers.location, "/login")
  t.equal(t.get("/").headers.location, "/login", "all sessions have ended")
  t.equal(t.post("/password", { form = form }).status, 410)
  t.equal(log_in().status, 422)
  t.equal(log_in("battery staple").headers.location, "/")
end)

t.test("a link for a password is good for an hour", function()
  confirm(register())
  t.post("/forgotten", { form = { email = ANN.email } })
  local path = link(newest())
  t.set_time(time.now() + 3601)
  t.equal(t.get(path).status, 410)
end)

t.test("at night those are removed who did not confirm", function()
  t.set_time(1792800000) -- 2026-10-24 00:00 UTC
  confirm(register())
  t.post("/register", { form = { email = "bob@example.org", password = "correct horse" } })
  t.equal(t.run_jobs().ran, 0)
  t.set_time(1792811000) -- 03:03 of the same night
  t.equal(t.run_jobs().ran, 1)
  t.equal(db.one("SELECT count(*) AS count FROM users").count, 2)
  t.set_time(1792897400) -- 03:03 of the next
  t.equal(t.run_jobs().ran, 1)
  t.equal(db.query("SELECT email FROM users"), { { email = "ann@example.org" } })
end)

t.test("mails cannot be asked for without end", function()
  local form = { email = "nobody@example.org" }
  for _ = 1, 20 do t.equal(t.post("/forgotten", { form = form }).status, 303) end
  t.equal(t.post("/forgotten", { form = form }).status, 429)
  t.equal(t.get("/forgotten").status, 200)
end)
