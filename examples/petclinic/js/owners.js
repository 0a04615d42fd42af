// Owners: find, list, show, add and edit.
import { app, db, first, redirect } from "sampan";
import page from "./page.js";
import paging from "./paging.js";
import * as store from "./store.js";
import check from "./check.js";

const FIELDS = {
  firstName: { required: true },
  lastName: { required: true },
  address: { required: true },
  city: { required: true },
  telephone: { required: true, pattern: /^\d{10}$/, message: "check.telephone" },
};

app.get("/owners/find", (req) => page(req, "owners/find.html"));

app.get("/owners", (req) => {
  const prefix = first(req.query.lastName) ?? "";
  const count = store.countOwners(prefix);
  if (count === 0) return page(req, "owners/find.html", { lastName: prefix, error: "owner.none" });
  if (count === 1) return redirect(`/owners/${store.owners(prefix, 1, 0)[0].id}`);
  const { limit, offset, ...part } = paging(req, count);
  return page(req, "owners/list.html", { owners: store.owners(prefix, limit, offset), lastName: prefix, count, ...part });
});

app.get("/owners/:id", (req) => {
  const owner = store.owner(req.params.id);
  return page(req, "owners/show.html", { owner, pets: store.pets(owner), visits: store.visits(owner) });
});

app.get("/owners/new", (req) => page(req, "owners/form.html", { form: {}, errors: {} }));

app.post("/owners/new", async (req) => {
  const form = await req.form();
  const [owner, errors] = check(form, FIELDS);
  if (errors) return page(req, "owners/form.html", { form, errors }, 422);
  const added = db.exec(`
    INSERT INTO owners (first_name, last_name, address, city, telephone)
    VALUES (:firstName, :lastName, :address, :city, :telephone)`, owner);
  return redirect(`/owners/${added.lastId}`, 303);
});

app.get("/owners/:id/edit", (req) => {
  const owner = store.owner(req.params.id);
  return page(req, "owners/form.html", { owner, form: owner, errors: {} });
});

app.post("/owners/:id/edit", async (req) => {
  const owner = store.owner(req.params.id);
  const form = await req.form();
  const [changed, errors] = check(form, FIELDS);
  if (errors) return page(req, "owners/form.html", { owner, form, errors }, 422);
  db.exec(`
    UPDATE owners SET first_name = :firstName, last_name = :lastName, address = :address, city = :city,
      telephone = :telephone WHERE id = :id`, { ...changed, id: owner.id });
  return redirect(`/owners/${owner.id}`, 303);
});
