-- Veterinarians: as pages, as JSON and as XML.
local app = require "sampan"
local db = app.db
local paging = require "paging"

local ALL = 1e9 -- a limit that is none

local function vets(limit, offset)
  local rows = db.query(
    [[SELECT id, first_name AS "firstName", last_name AS "lastName" FROM vets ORDER BY id LIMIT ? OFFSET ?]], { limit, offset })
  local list = app.json.array {}
  for i, row in ipairs(rows) do
    local specialties = db.query([[
      SELECT id, name FROM specialties JOIN vet_specialties ON specialty_id = id WHERE vet_id = ? ORDER BY name]], { row.id })
    list[i] = {
      id = row.id, firstName = row.firstName, lastName = row.lastName,
      specialties = specialties, nrOfSpecialties = #specialties,
    }
  end
  return list
end

app.get("/vets.html", function(req)
  local part = paging(req, db.one("SELECT count(*) AS n FROM vets").n)
  return req:render("vets/list.html", { vets = vets(part.limit, part.offset), page = part.page, last = part.last })
end)

-- XML for clients that name it and do not name JSON.
app.get("/vets", function(req)
  local accept = req.headers.accept or ""
  local headers = { vary = "accept" }
  if accept:find("xml", 1, true) and not accept:find("json", 1, true) then
    return app.render("vets/list.xml", { vets = vets(ALL, 0) }, { headers = headers })
  end
  return app.json({ vetList = vets(ALL, 0) }, { headers = headers })
end)
