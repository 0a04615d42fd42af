import { app } from "sampan";

app.host(":id.example.org", (tenant) => tenant.get("/users/:id", "never"));
