import { app } from "sampan";

app.get("/", "all");
app.host("api.example.org", (api) => api.get("/", "api"));
