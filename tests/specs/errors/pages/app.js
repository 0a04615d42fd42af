import { app } from "sampan";

app.use(app.secureHeaders());
app.get("/", () => "here");
app.get("/fails", () => { throw new Error("secret"); });
app.get("/taken", () => { throw Object.assign(new Error("<b>taken</b>"), { status: 409 }); });
app.post("/small", { bodyBytesMax: 10 }, (req) => req.text());
