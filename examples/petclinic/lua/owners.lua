-- Owners: find, list, show, add and edit.
local app = require "sampan"
local db = app.db
local page = require "page"
local store = require "store"
local paging = require "paging"
local check = require "check"

local FIELDS = {
  firstName = { required = true },
  lastName = { required = true },
  address = { required = true },
  city = { required = true },
  telephone = { required = true, pattern = "^%d%d%d%d%d%d%d%d%d%d$", message = "check.telephone" },
}

app.get("/owners/find", function(req) return page(req, "owners/find.html") end)

app.get("/owners", function(req)
  local prefix = app.first(req.query.lastName) or ""
  local count = store.count_owners(prefix)
  if count == 0 then
    return page(req, "owners/find.html", { lastName = prefix, error = "owner.none" })
  elseif count == 1 then
    return app.redirect("/owners/" .. store.owners(prefix, 1, 0)[1].id)
  end
  local part = paging(req, count)
  return page(req, "owners/list.html", {
    owners = store.owners(prefix, part.limit, part.offset),
    lastName = prefix, count = count, page = part.page, last = part.last,
  })
end)

app.get("/owners/:id", function(req)
  local owner = store.owner(req.params.id)
  return page(req, "owners/show.html", { owner = owner, pets = store.pets(owner), visits = store.visits(owner) })
end)

app.get("/owners/new", function(req) return page(req, "owners/form.html", { form = {}, errors = {} }) end)

app.post("/owners/new", function(req)
  local owner, errors = check(req:form(), FIELDS)
  if errors then return page(req, "owners/form.html", { form = req:form(), errors = errors }, 422) end
  local added = db.exec([[
    INSERT INTO owners (first_name, last_name, address, city, telephone)
    VALUES (:firstName, :lastName, :address, :city, :telephone)]], owner)
  return app.redirect("/owners/" .. added.last_id, 303)
end)

app.get("/owners/:id/edit", function(req)
  local owner = store.owner(req.params.id)
  return page(req, "owners/form.html", { owner = owner, form = owner, errors = {} })
end)

app.post("/owners/:id/edit", function(req)
  local owner = store.owner(req.params.id)
  local changed, errors = check(req:form(), FIELDS)
  if errors then return page(req, "owners/form.html", { owner = owner, form = req:form(), errors = errors }, 422) end
  changed.id = owner.id
  db.exec([[
    UPDATE owners SET first_name = :firstName, last_name = :lastName, address = :address, city = :city,
      telephone = :telephone WHERE id = :id]], changed)
  return app.redirect("/owners/" .. owner.id, 303)
end)
