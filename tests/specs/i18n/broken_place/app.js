import { app } from "sampan";

app.get("/", (req) => req.t("a") + req.locale);
