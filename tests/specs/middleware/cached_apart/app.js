import { app } from "sampan";

// No path ends in both, so their order does not matter.
app.use("/docs/:name.html", app.cached({ seconds: 60 }));
app.use("/docs/:name.pdf", app.allowIps({ networks: ["192.0.2.0/24"] }));
app.use("/docs/:name.txt", (req, next) => next(req));
app.use("/docs/:name.html", app.cached({ seconds: 60, vary: ["x-tenant"] }));
app.get("/docs/:file", (req) => req.params.file);
