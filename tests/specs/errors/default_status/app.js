import { app, html, text } from "sampan";

app.onError((req, err) => text("sorry", err.status));
app.notFound(() => html("nope"));
app.get("/plain", () => { throw new Error("first failure"); });
app.get("/status", () => { throw Object.assign(new Error("taken"), { status: 409 }); });
