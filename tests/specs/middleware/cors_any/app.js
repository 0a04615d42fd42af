import { app } from "sampan";

app.group("/api", (api) => {
  api.use(app.cors({ origins: "*" }));
  api.get("/version", { version: "1" });
});
app.get("/version", { version: "1" });
