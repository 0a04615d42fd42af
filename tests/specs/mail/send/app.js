import { app, mail } from "sampan";

const MAIL = { to: "a@example.org", from: "b@example.org", subject: "x", text: "x" };

app.post("/send", () => { mail.send(MAIL); });
app.post("/refused", () => { mail.send({ to: "a@example.org\nBcc: b@example.org", from: "b@example.org", text: "x" }); });
app.post("/no_from", () => { mail.send({ to: "a@example.org", text: "x" }); });
