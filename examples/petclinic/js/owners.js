// Owners: find, list, show, add and edit.
import { app, db, first, redirect } from "sampan";
import paging from "./paging.js";
import * as store from "./store.js";

const FIELDS = {
  firstName: { required: true, max: 30 },
  lastName: { required: true, max: 30 },
  address: { required: true, max: 255 },
  city: { required: true, max: 80 },
  telephone: { required: true, pattern: "[0-9]{10}", message: "check.telephone" },
};

app.get("/owners/find", (req) => req.render("owners/find.html", { errors: {} }));

app.get("/owners", async (req) => {
  const prefix = first(req.query.lastName) ?? "";
  const count = await store.countOwners(prefix);
  if (count === 0) {
    return req.render("owners/find.html", { lastName: prefix, errors: { lastName: req.t("owner.none") } });
  }
  if (count === 1) {
    const [owner] = await store.owners(prefix, 1, 0);
    return redirect(`/owners/${owner.id}`);
  }
  const { limit, offset, ...part } = paging(req, count);
  const owners = await store.owners(prefix, limit, offset);
  return req.render("owners/list.html", { owners, lastName: prefix, count, ...part });
});

app.get("/owners/:id", async (req) => {
  const owner = await store.owner(req.params.id);
  return req.render("owners/show.html", { owner, pets: await store.pets(owner), visits: await store.visits(owner) });
});

app.get("/owners/new", (req) => req.render("owners/form.html", { form: {}, errors: {} }));

app.post("/owners/new", async (req) => {
  const form = await req.form();
  const { data, errors } = req.validate(form, FIELDS);
  if (errors) return req.render("owners/form.html", { form, errors }, 422);
  const added = await db.exec(`
    INSERT INTO owners (first_name, last_name, address, city, telephone)
    VALUES (:firstName, :lastName, :address, :city, :telephone)`, data);
  req.flash("notice", req.t("flash.owner_added"));
  return redirect(`/owners/${added.lastId}`, 303);
});

app.get("/owners/:id/edit", async (req) => {
  const owner = await store.owner(req.params.id);
  return req.render("owners/form.html", { owner, form: owner, errors: {} });
});

app.post("/owners/:id/edit", async (req) => {
  const owner = await store.owner(req.params.id);
  const form = await req.form();
  const { data, errors } = req.validate(form, FIELDS);
  if (errors) return req.render("owners/form.html", { owner, form, errors }, 422);
  await db.exec(`
    UPDATE owners SET first_name = :firstName, last_name = :lastName, address = :address, city = :city,
      telephone = :telephone WHERE id = :id`, { ...data, id: owner.id });
  req.flash("notice", req.t("flash.owner_saved"));
  return redirect(`/owners/${owner.id}`, 303);
});
