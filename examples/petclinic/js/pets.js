// Pets and their visits: add and edit.
import { app, db, redirect } from "sampan";
import page from "./page.js";
import * as store from "./store.js";
import check from "./check.js";

const PET = {
  name: { required: true },
  birthDate: { required: true, date: true, past: true },
  type: { required: true, oneOf: store.types, message: "check.type" },
};
const VISIT = {
  date: { required: true, date: true },
  description: { required: true },
};

function petForm(req, owner, pet, form, errors) {
  return page(req, "pets/form.html", { owner, pet, form, errors: errors ?? {}, types: store.types() }, errors ? 422 : 200);
}

// Checks what was typed and writes it with a statement. Two pets of an owner cannot have one name, whatever its case.
async function save(req, owner, pet, sql) {
  const form = await req.form();
  let [typed, errors] = check(form, PET);
  if (!errors) {
    try {
      db.exec(sql, pet ? { ...typed, owner: owner.id, id: pet.id } : { ...typed, owner: owner.id });
      return redirect(`/owners/${owner.id}`, 303);
    } catch (error) {
      if (error.code !== "unique") throw error;
      errors = { name: "check.taken" };
    }
  }
  return petForm(req, owner, pet, form, errors);
}

app.get("/owners/:id/pets/new", (req) => petForm(req, store.owner(req.params.id), undefined, {}));

app.post("/owners/:id/pets/new", (req) => save(req, store.owner(req.params.id), undefined, `
  INSERT INTO pets (name, birth_date, type_id, owner_id)
  VALUES (:name, :birthDate, (SELECT id FROM types WHERE name = :type), :owner)`));

app.get("/owners/:id/pets/:pet/edit", (req) => {
  const owner = store.owner(req.params.id);
  const pet = store.pet(owner, req.params.pet);
  return petForm(req, owner, pet, pet);
});

app.post("/owners/:id/pets/:pet/edit", (req) => {
  const owner = store.owner(req.params.id);
  return save(req, owner, store.pet(owner, req.params.pet), `
    UPDATE pets SET name = :name, birth_date = :birthDate, type_id = (SELECT id FROM types WHERE name = :type)
    WHERE owner_id = :owner AND id = :id`);
});

function visitForm(req, owner, pet, form, errors) {
  const visits = store.visits(owner).filter((visit) => visit.petId === pet.id);
  return page(req, "pets/visit.html", { owner, pet, pet_visits: visits, form, errors: errors ?? {} }, errors ? 422 : 200);
}

app.get("/owners/:id/pets/:pet/visits/new", (req) => {
  const owner = store.owner(req.params.id);
  return visitForm(req, owner, store.pet(owner, req.params.pet), { date: new Date().toISOString().slice(0, 10) });
});

app.post("/owners/:id/pets/:pet/visits/new", async (req) => {
  const owner = store.owner(req.params.id);
  const pet = store.pet(owner, req.params.pet);
  const form = await req.form();
  const [visit, errors] = check(form, VISIT);
  if (errors) return visitForm(req, owner, pet, form, errors);
  db.exec("INSERT INTO visits (pet_id, visit_date, description) VALUES (?, ?, ?)", [pet.id, visit.date, visit.description]);
  return redirect(`/owners/${owner.id}`, 303);
});
