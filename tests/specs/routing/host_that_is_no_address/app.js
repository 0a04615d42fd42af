import { app } from "sampan";

app.host("1.2.3.4.5", (api) => api.get("/", "never"));
