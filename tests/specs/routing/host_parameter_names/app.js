import { app } from "sampan";

app.host(":tenant.example.org", (tenant) => tenant.get("/a", "never"));
app.host(":customer.Example.org.", (customer) => customer.use((req, next) => next(req)));
