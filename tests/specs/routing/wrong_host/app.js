import { app } from "sampan";

app.host("https://api.example.org", (api) => api.get("/", "never"));
