import { app } from "sampan";

app.host("admin.example.org", () => app.get("/secret", "open to all hosts"));
