-- What the pages read of the database. The columns have the names of the fields in the forms.
local app = require "sampan"
local db = app.db
local store = {}

local OWNER = [[SELECT id, first_name AS "firstName", last_name AS "lastName", address, city, telephone]]

local function found(row, what)
  return row or error({ status = 404, message = what .. " does not exist" })
end

-- An id in a path: what is none is the id of nothing.
local function number(id)
  return #id < 16 and id:match("^%d+$") and tonumber(id) or 0
end

function store.owner(id)
  return found(db.one(OWNER .. " FROM owners WHERE id = ?", { number(id) }), "the owner " .. id)
end

-- The owners whose last name begins with a prefix. The index on the column finds them, whatever their case.
local BEGINS = " FROM owners WHERE last_name >= :prefix AND last_name < :behind"
local LAST = "\244\143\191\191" -- the last character of all

function store.count_owners(prefix)
  return db.one("SELECT count(*) AS n" .. BEGINS, { prefix = prefix, behind = prefix .. LAST }).n
end

function store.owners(prefix, limit, offset)
  local pets = "(SELECT string_agg(name, ', ' ORDER BY name) FROM pets WHERE owner_id = owners.id) AS pets"
  return db.query(OWNER .. ", " .. pets .. BEGINS .. " ORDER BY last_name, first_name, id LIMIT :limit OFFSET :offset",
    { prefix = prefix, behind = prefix .. LAST, limit = limit, offset = offset })
end

local PET = [[
  SELECT pets.id, pets.name, birth_date AS "birthDate", types.name AS type FROM pets JOIN types ON types.id = type_id]]

function store.pets(owner)
  return db.query(PET .. " WHERE owner_id = ? ORDER BY pets.name", { owner.id })
end

function store.pet(owner, id)
  return found(db.one(PET .. " WHERE owner_id = ? AND pets.id = ?", { owner.id, number(id) }), "the pet " .. id)
end

-- The visits of all pets of an owner.
function store.visits(owner)
  return db.query([[
    SELECT pet_id AS "petId", visit_date AS date, description FROM visits JOIN pets ON pets.id = pet_id
    WHERE owner_id = ? ORDER BY visit_date, visits.id]], { owner.id })
end

function store.types()
  local names = {}
  for i, row in ipairs(db.query("SELECT name FROM types ORDER BY name")) do names[i] = row.name end
  return names
end

return store
