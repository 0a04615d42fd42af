import { app, i18n } from "sampan";

app.get("/pets/:n", (req) => req.t("owner.pets", { n: Number(req.params.n) }));
app.get("/hello", (req) => req.t("hello", { name: req.query.name ?? "you" }));
app.get("/key", (req) => req.t(req.query.key));
app.get("/braces", (req) => req.t("braces", { n: 1234.5 }));
app.get("/lacking", (req) => req.t("hello"));
app.get("/list", (req) => req.t("hello", { name: [1] }));
app.get("/word", (req) => req.t("owner.pets", { n: "three" }));
app.get("/mail", () => i18n.t("de-CH", "hello", { name: "Ann" }));
app.get("/unknown", () => i18n.t("xx", "hello"));
app.get("/locales", () => i18n.locales());
