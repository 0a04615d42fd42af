// Spring PetClinic in JavaScript: sampan run examples/petclinic/js
import { app } from "sampan";
import "./owners.js";
import "./pets.js";
import "./vets.js";

// Styles and pictures are our own; there are no scripts.
app.use(app.secureHeaders({ csp: "default-src 'self'" }));

app.get("/", (req) => req.render("welcome.html"));

// Fails on purpose, to show the page of an error.
app.get("/oups", () => { throw new Error("this page always fails"); });

app.notFound((req) => req.render("error.html", { status: 404 }, 404));
app.onError((req, error) => {
  const status = error.status ?? 500;
  return req.render("error.html", { status }, status);
});
