import { app } from "sampan";

app.get("/plain", (req) => { req.setCookie("a", "1"); return "set"; });
app.get("/signed", (req) => { req.setCookie("a", "1", { signed: true }); return "set"; });
app.get("/encrypted", (req) => req.encryptedCookie("a") ?? "none");
