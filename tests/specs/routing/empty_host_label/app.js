import { app } from "sampan";

app.host("api..example", (api) => api.get("/", "never"));
