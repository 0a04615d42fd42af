import { app } from "sampan";

app.get("/begin/:name", (req) => { req.session.user = req.params.name; });
app.get("/me", (req) => ({ user: req.session.user ?? "nobody" }));
app.get("/logout", (req) => req.session.clear());
