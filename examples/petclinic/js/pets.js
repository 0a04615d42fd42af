// Pets and their visits: add and edit.
import { app, db, redirect } from "sampan";
import * as store from "./store.js";

const VISIT = {
  date: { type: "date", required: true },
  description: { required: true, max: 255 },
};

// What a pet must be; the types are those of the database.
async function petFields() {
  return {
    name: { required: true, max: 30 },
    birthDate: { type: "date", required: true, max: "today" },
    type: { required: true, enum: await store.types() },
  };
}

async function petForm(req, owner, pet, form, errors) {
  const types = await store.types();
  return req.render("pets/form.html", { owner, pet, form, errors: errors ?? {}, types }, errors ? 422 : 200);
}

// Checks what was typed, writes it with a statement and says so. Two pets of an owner cannot have one name, whatever its case.
async function save(req, owner, pet, sql, message) {
  const form = await req.form();
  let { data, errors } = req.validate(form, await petFields());
  if (!errors) {
    try {
      await db.exec(sql, pet ? { ...data, owner: owner.id, id: pet.id } : { ...data, owner: owner.id });
      req.flash("notice", req.t(message));
      return redirect(`/owners/${owner.id}`, 303);
    } catch (error) {
      if (error.code !== "unique") throw error;
      errors = { name: req.t("check.taken") };
    }
  }
  return petForm(req, owner, pet, form, errors);
}

app.get("/owners/:id/pets/new", async (req) => petForm(req, await store.owner(req.params.id), undefined, {}));

app.post("/owners/:id/pets/new", async (req) => save(req, await store.owner(req.params.id), undefined, `
  INSERT INTO pets (name, birth_date, type_id, owner_id)
  VALUES (:name, :birthDate, (SELECT id FROM types WHERE name = :type), :owner)`, "flash.pet_added"));

app.get("/owners/:id/pets/:pet/edit", async (req) => {
  const owner = await store.owner(req.params.id);
  const pet = await store.pet(owner, req.params.pet);
  return petForm(req, owner, pet, pet);
});

app.post("/owners/:id/pets/:pet/edit", async (req) => {
  const owner = await store.owner(req.params.id);
  return save(req, owner, await store.pet(owner, req.params.pet), `
    UPDATE pets SET name = :name, birth_date = :birthDate, type_id = (SELECT id FROM types WHERE name = :type)
    WHERE owner_id = :owner AND id = :id`, "flash.pet_saved");
});

async function visitForm(req, owner, pet, form, errors) {
  const all = await store.visits(owner);
  const visits = all.filter((visit) => visit.petId === pet.id);
  return req.render("pets/visit.html", { owner, pet, pet_visits: visits, form, errors: errors ?? {} }, errors ? 422 : 200);
}

app.get("/owners/:id/pets/:pet/visits/new", async (req) => {
  const owner = await store.owner(req.params.id);
  return visitForm(req, owner, await store.pet(owner, req.params.pet), { date: new Date().toISOString().slice(0, 10) });
});

app.post("/owners/:id/pets/:pet/visits/new", async (req) => {
  const owner = await store.owner(req.params.id);
  const pet = await store.pet(owner, req.params.pet);
  const form = await req.form();
  const { data: visit, errors } = req.validate(form, VISIT);
  if (errors) return visitForm(req, owner, pet, form, errors);
  await db.exec("INSERT INTO visits (pet_id, visit_date, description) VALUES (?, ?, ?)", [pet.id, visit.date, visit.description]);
  req.flash("notice", req.t("flash.visit_added"));
  return redirect(`/owners/${owner.id}`, 303);
});
