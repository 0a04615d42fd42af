// Spring PetClinic in JavaScript: sampan run examples/petclinic/js
import { app } from "sampan";
import page from "./page.js";
import "./texts.js";
import "./owners.js";
import "./pets.js";
import "./vets.js";

app.get("/", (req) => page(req, "welcome.html"));

// Fails on purpose, to show the page of an error.
app.get("/oups", () => { throw new Error("this page always fails"); });

const errorPage = (req, status) => page(req, "error.html", { status, id: req.id }, status);

app.notFound((req) => errorPage(req, 404));
app.onError((req, error) => errorPage(req, error.status ?? 500));
