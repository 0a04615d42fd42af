-- Pets and their visits: add and edit.
local app = require "sampan"
local db = app.db
local store = require "store"

local VISIT = {
  date = { type = "date", required = true },
  description = { required = true, max = 255 },
}

-- What a pet must be; the types are those of the database.
local function pet_fields()
  return {
    name = { required = true, max = 30 },
    birthDate = { type = "date", required = true, max = "today" },
    type = { required = true, enum = store.types() },
  }
end

local function pet_form(req, owner, pet, form, errors)
  return req:render("pets/form.html",
    { owner = owner, pet = pet, form = form, errors = errors or {}, types = store.types() }, errors and 422)
end

-- Checks what was typed, writes it with a statement and says so. Two pets of an owner cannot have one name, whatever its case.
local function save(req, owner, pet, sql, message)
  local typed, errors = req:validate(req:form(), pet_fields())
  if not errors then
    typed.owner = owner.id
    typed.id = pet and pet.id
    local ok, err = pcall(db.exec, sql, typed)
    if ok then
      req:flash("notice", req:t(message))
      return app.redirect("/owners/" .. owner.id, 303)
    end
    if err.code ~= "unique" then error(err, 0) end
    errors = { name = req:t("check.taken") }
  end
  return pet_form(req, owner, pet, req:form(), errors)
end

app.get("/owners/:id/pets/new", function(req)
  return pet_form(req, store.owner(req.params.id), nil, {})
end)

app.post("/owners/:id/pets/new", function(req)
  return save(req, store.owner(req.params.id), nil, [[
    INSERT INTO pets (name, birth_date, type_id, owner_id)
    VALUES (:name, :birthDate, (SELECT id FROM types WHERE name = :type), :owner)]], "flash.pet_added")
end)

app.get("/owners/:id/pets/:pet/edit", function(req)
  local owner = store.owner(req.params.id)
  local pet = store.pet(owner, req.params.pet)
  return pet_form(req, owner, pet, pet)
end)

app.post("/owners/:id/pets/:pet/edit", function(req)
  local owner = store.owner(req.params.id)
  return save(req, owner, store.pet(owner, req.params.pet), [[
    UPDATE pets SET name = :name, birth_date = :birthDate, type_id = (SELECT id FROM types WHERE name = :type)
    WHERE owner_id = :owner AND id = :id]], "flash.pet_saved")
end)

local function visit_form(req, owner, pet, form, errors)
  local visits = {}
  for _, visit in ipairs(store.visits(owner)) do
    if visit.petId == pet.id then table.insert(visits, visit) end
  end
  return req:render("pets/visit.html",
    { owner = owner, pet = pet, pet_visits = visits, form = form, errors = errors or {} }, errors and 422)
end

app.get("/owners/:id/pets/:pet/visits/new", function(req)
  local owner = store.owner(req.params.id)
  return visit_form(req, owner, store.pet(owner, req.params.pet), { date = os.date("!%Y-%m-%d") })
end)

app.post("/owners/:id/pets/:pet/visits/new", function(req)
  local owner = store.owner(req.params.id)
  local pet = store.pet(owner, req.params.pet)
  local visit, errors = req:validate(req:form(), VISIT)
  if errors then return visit_form(req, owner, pet, req:form(), errors) end
  db.exec("INSERT INTO visits (pet_id, visit_date, description) VALUES (?, ?, ?)", { pet.id, visit.date, visit.description })
  req:flash("notice", req:t("flash.visit_added"))
  return app.redirect("/owners/" .. owner.id, 303)
end)
