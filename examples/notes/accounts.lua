-- Accounts: register, confirm the address, log in, and choose a new password after the old one was forgotten.
local app = require "sampan"
local db, crypto = app.db, app.crypto

local HOUR, DAY = 3600, 24 * 3600
-- The address of this site for links in mails. A request cannot tell it: a client may send any Host.
local SITE = app.env.get("NOTES_SITE") or "http://127.0.0.1:8080"

local PASSWORD = { required = true, min = 8, max = 200, trim = false }
local REGISTRATION = { email = { type = "email", required = true, max = 200 }, password = PASSWORD }

-- Passwords cannot be tried quickly, and no one gets mails without end. Showing a form is not counted.
local careful = app.rate_limit { limit = 20, per = 300, key = function(req)
  if req.method == "POST" then return req.ip end
end }
for _, path in ipairs { "/register", "/login", "/forgotten" } do app.use(path, careful) end

-- One value of a form or a query as a text, also where a client sends a list or a file.
local function text(value) return tostring(app.first(value) or "") end

local function form_page(req, name, form, errors)
  return req:render(name, { form = form, errors = errors }, next(errors) and 422)
end

-- Links in mails. Each has a sealed text with the user's id and the hash of the password, so no one else can make it,
-- it expires, and it is worth nothing once there is another password.

-- Without keys for that the app does not start.
app.on_start(function() crypto.seal("", "start") end)

local function link(path, user, seconds)
  return SITE .. path .. "?token=" .. crypto.seal(user.id .. " " .. user.password, path, { max_age = seconds })
end

local function user_of(path, token)
  local id, hash = (crypto.open(text(token), path) or ""):match("^(%d+) (.+)$")
  local user = id and db.one("SELECT id, password FROM users WHERE id = ?", { tonumber(id) })
  if not user or user.password ~= hash then error({ status = 410, message = "the link was used or is too old" }) end
  return user
end

local function ask_to_confirm(user)
  db.exec("UPDATE users SET invited_at = ? WHERE id = ?", { app.time.now(), user.id })
  app.mail.send {
    to = user.email, subject = "Confirm your address", template = "mails/confirm",
    data = { link = link("/confirm", user, DAY) },
  }
end

-- Register

app.get("/register", function(req) return form_page(req, "register.html", {}, {}) end)

app.post("/register", function(req)
  local form = req:form()
  local typed, errors = app.validate(form, REGISTRATION)
  if errors then return form_page(req, "register.html", form, errors) end
  -- An address that was not confirmed can be registered again. The earlier password and link are worth nothing then.
  local user = db.one([[
    INSERT INTO users (email, password, invited_at) VALUES (?, ?, ?)
    ON CONFLICT (email) DO UPDATE SET password = excluded.password WHERE users.is_confirmed = 0
    RETURNING id, email, password]], { typed.email, app.password.hash(typed.password), app.time.now() })
  -- The page is the same either way: it tells no one who has an account.
  if user then
    ask_to_confirm(user)
  else
    app.mail.send { to = typed.email, subject = "You have an account", template = "mails/known", data = { site = SITE } }
  end
  return app.redirect("/sent", 303)
end)

app.get("/sent", function(req) return req:render("sent.html") end)

-- A link only shows a page with a button: programs that check mails follow links too.
app.get("/confirm", function(req)
  user_of("/confirm", req.query.token)
  return req:render("confirm.html", { token = text(req.query.token) })
end)

app.post("/confirm", function(req)
  db.exec("UPDATE users SET is_confirmed = 1 WHERE id = ?", { user_of("/confirm", req:form().token).id })
  req:flash("notice", "Your address is confirmed. You can log in now.")
  return app.redirect("/login", 303)
end)

-- Log in and out

app.get("/login", function(req) return form_page(req, "login.html", {}, {}) end)

app.post("/login", function(req)
  local form = req:form()
  local user = db.one("SELECT id, email, password, is_confirmed FROM users WHERE email = ?", { text(form.email) })
  -- Without a user it takes as long, so that no one can find out who has an account.
  if not app.password.verify(text(form.password), user and user.password) then
    return form_page(req, "login.html", form, { password = "does not fit the address" })
  end
  if user.is_confirmed == 0 then
    ask_to_confirm(user)
    return app.redirect("/sent", 303)
  end
  req.session:regenerate() -- an id that someone else knew is worth nothing after the login
  req.session.user_id = user.id
  return app.redirect("/", 303)
end)

app.post("/logout", function(req)
  req.session:clear()
  return app.redirect("/login", 303)
end)

-- A new password

app.get("/forgotten", function(req) return req:render("forgotten.html") end)

app.post("/forgotten", function(req)
  local user = db.one("SELECT id, email, password FROM users WHERE email = ?", { text(req:form().email) })
  if user then
    app.mail.send {
      to = user.email, subject = "Choose a new password", template = "mails/forgotten",
      data = { link = link("/password", user, HOUR) },
    }
  end
  return app.redirect("/sent", 303)
end)

app.get("/password", function(req)
  user_of("/password", req.query.token)
  return form_page(req, "password.html", { token = text(req.query.token) }, {})
end)

app.post("/password", function(req)
  local form = req:form()
  local user = user_of("/password", form.token)
  local typed, errors = app.validate(form, { password = PASSWORD })
  if errors then return form_page(req, "password.html", form, errors) end
  -- The old hash once more: of two requests with one link the first counts.
  local changed = db.exec("UPDATE users SET password = ?, is_confirmed = 1 WHERE id = ? AND password = ?",
    { app.password.hash(typed.password), user.id, user.password })
  if changed.changes == 0 then error({ status = 410, message = "the link was used" }) end
  app.session.end_all { user_id = user.id } -- someone else may be logged in with the old password
  req.session:clear()
  req:flash("notice", "Your password was changed. You can log in now.")
  return app.redirect("/login", 303)
end)

-- Each night: addresses that were not confirmed while their link was valid.
app.cron("0 3 * * *", "forget", function(run)
  local removed = db.exec("DELETE FROM users WHERE is_confirmed = 0 AND invited_at < ?", { run.due - DAY })
  app.log.info("registrations that were never confirmed were removed", { count = removed.changes })
end)

-- Middleware for pages of users.
local function users_only(req, next)
  local id = req.session.user_id
  req.state.user = id and db.one("SELECT id, email FROM users WHERE id = ?", { id })
  if not req.state.user then return app.redirect("/login", 303) end
  return next(req)
end

return { users_only = users_only }
