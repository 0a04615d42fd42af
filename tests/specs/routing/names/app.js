import { app, redirect, render } from "sampan";

app.get("/", { name: "home" }, () => app.urlFor("home"));
app.group("/shop", (shop) => {
  shop.get("/owners/:id", { name: "owner" }, (req) => app.urlFor("owner", { id: req.params.id, page: 2 }));
  shop.post("/owners/:id", { name: "owner" }, () => redirect(app.urlFor("owner", { id: 7 })));
});
app.get("/files/*path", { name: "file", etag: true }, (req) => app.urlFor("file", { path: req.params.path }));
app.get("/page", () => render("page.html", { id: "a b" }));
app.get("/wrong", () => app.urlFor("ower", { id: 1 }));
app.get("/missing", () => app.urlFor("owner"));
