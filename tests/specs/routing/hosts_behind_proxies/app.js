import { app } from "sampan";

app.get("/", "all");
app.host("api.example.org", (api) => api.get("/", "api"));
app.host(":tenant.example.org", (tenant) => tenant.get("/tenant", (req) => req.params.tenant));
