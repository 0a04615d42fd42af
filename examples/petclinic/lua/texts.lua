-- English texts for t() in templates and req:t().
local app = require "sampan"
local texts = {
  ["nav.skip"] = "Skip to the content",
  ["nav.main"] = "Pages",
  ["nav.home"] = "Home",
  ["nav.owners"] = "Find owners",
  ["nav.vets"] = "Veterinarians",
  ["nav.error"] = "Error",
  ["nav.languages"] = "Languages",
  ["home.title"] = "Welcome",
  ["home.text"] = "The records of a small animal clinic: owners, their pets and their visits.",
  ["home.picture"] = "A dog and a cat, side by side",
  ["owner.find"] = "Find owners",
  ["owner.search"] = "Search",
  ["owner.list"] = "Owners",
  ["owner.found"] = "{n} owners",
  ["owner.none"] = "No owner has a last name that begins like this.",
  ["owner.add"] = "Add owner",
  ["owner.edit"] = "Edit owner",
  ["owner.about"] = "Contact",
  ["owner.name"] = "Name",
  ["owner.first_name"] = "First name",
  ["owner.last_name"] = "Last name",
  ["owner.address"] = "Address",
  ["owner.city"] = "City",
  ["owner.telephone"] = "Telephone",
  ["owner.pets"] = "Pets",
  ["owner.pets_and_visits"] = "Pets and visits",
  ["pet.add"] = "Add pet",
  ["pet.edit"] = "Edit pet",
  ["pet.owner"] = "Owner",
  ["pet.name"] = "Name",
  ["pet.birth_date"] = "Date of birth",
  ["pet.type"] = "Type",
  ["pet.none"] = "This owner has no pets yet.",
  ["visit.add"] = "Add visit",
  ["visit.date"] = "Date",
  ["visit.description"] = "Description",
  ["visit.previous"] = "Earlier visits",
  ["vet.specialties"] = "Specialties",
  ["vet.none"] = "none",
  ["vet.data"] = "This list as data",
  ["pages.label"] = "Pages of the list",
  ["pages.previous"] = "Previous",
  ["pages.next"] = "Next",
  ["form.save"] = "Save",
  ["error.title"] = "Something went wrong",
  ["error.missing"] = "This page does not exist.",
  ["error.failed"] = "The server could not answer this request. The error is in its log.",
  ["error.number"] = "Number of the request:",
  ["flash.owner_added"] = "The owner was added.",
  ["flash.owner_saved"] = "The owner was changed.",
  ["flash.pet_added"] = "The pet was added.",
  ["flash.pet_saved"] = "The pet was changed.",
  ["flash.visit_added"] = "The visit was added.",
  ["check.required"] = "Please fill this in.",
  ["check.telephone"] = "A telephone number has 10 digits.",
  ["validate.date"] = "This is not a date.",
  ["check.future"] = "The date of birth is in the future.",
  ["check.taken"] = "This owner already has a pet with that name.",
  ["check.type"] = "Please choose one of these.",
}

local function text(key, values)
  return ((texts[key] or key):gsub("{(%w+)}", values or {}))
end

app.template.func("t", text)

local function render(req, name, data, status)
  local all = { locale = "en", text_direction = "ltr", flashes = req:flashes(), request = { id = req.id } }
  for key, value in pairs(data or {}) do all[key] = value end
  return app.render(name, all, status)
end

app.use(function(req, next)
  function req.t(_, key, values) return text(key, values) end
  req.render = render
  return next(req)
end)

return render
