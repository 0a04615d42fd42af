-- Owners: find, list, show, add and edit.
local app = require "sampan"
local db = app.db
local store = require "store"
local paging = require "paging"

local FIELDS = {
  firstName = { required = true, max = 30 },
  lastName = { required = true, max = 30 },
  address = { required = true, max = 255 },
  city = { required = true, max = 80 },
  telephone = { required = true, pattern = "[0-9]{10}", message = "check.telephone" },
}

app.get("/owners/find", function(req) return req:render("owners/find.html", { errors = {} }) end)

app.get("/owners", function(req)
  local prefix = app.first(req.query.lastName) or ""
  local count = store.count_owners(prefix)
  if count == 0 then
    return req:render("owners/find.html", { lastName = prefix, errors = { lastName = req:t("owner.none") } })
  elseif count == 1 then
    return app.redirect("/owners/" .. store.owners(prefix, 1, 0)[1].id)
  end
  local part = paging(req, count)
  return req:render("owners/list.html", {
    owners = store.owners(prefix, part.limit, part.offset),
    lastName = prefix, count = count, page = part.page, last = part.last,
  })
end)

app.get("/owners/:id", function(req)
  local owner = store.owner(req.params.id)
  return req:render("owners/show.html", { owner = owner, pets = store.pets(owner), visits = store.visits(owner) })
end)

app.get("/owners/new", function(req) return req:render("owners/form.html", { form = {}, errors = {} }) end)

app.post("/owners/new", function(req)
  local owner, errors = req:validate(req:form(), FIELDS)
  if errors then return req:render("owners/form.html", { form = req:form(), errors = errors }, 422) end
  local added = db.exec([[
    INSERT INTO owners (first_name, last_name, address, city, telephone)
    VALUES (:firstName, :lastName, :address, :city, :telephone)]], owner)
  req:flash("notice", req:t("flash.owner_added"))
  return app.redirect("/owners/" .. added.last_id, 303)
end)

app.get("/owners/:id/edit", function(req)
  local owner = store.owner(req.params.id)
  return req:render("owners/form.html", { owner = owner, form = owner, errors = {} })
end)

app.post("/owners/:id/edit", function(req)
  local owner = store.owner(req.params.id)
  local changed, errors = req:validate(req:form(), FIELDS)
  if errors then return req:render("owners/form.html", { owner = owner, form = req:form(), errors = errors }, 422) end
  changed.id = owner.id
  db.exec([[
    UPDATE owners SET first_name = :firstName, last_name = :lastName, address = :address, city = :city,
      telephone = :telephone WHERE id = :id]], changed)
  req:flash("notice", req:t("flash.owner_saved"))
  return app.redirect("/owners/" .. owner.id, 303)
end)
