import { app, mail, text } from "sampan";

const source = (template, data, locale) =>
  text(mail.source({ to: "ann@example.org", subject: "Hello", template, data, locale }).replaceAll("\r\n", "\n"));

app.get("/both", () => source("mails/both", { name: "<Ann>" }));
app.get("/html", () => source("mails/html"));
app.get("/text", () => source("mails/text", { name: "<Ann>" }));
app.get("/locale/:locale", (req) => source("mails/both", { name: "Ann" }, req.params.locale));
app.get("/none", () => source("mails/none"));
app.get("/missing", () => source("mails/both"));
