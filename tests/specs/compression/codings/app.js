import { app, html } from "sampan";

const TEXT = "all work and no play makes jack a dull boy. ".repeat(20);

app.get("/text", () => TEXT);
app.get("/json", () => ({ text: TEXT }));
app.get("/small", () => "x".repeat(255));
app.get("/smallest", () => "x".repeat(256));
app.get("/tagged", () => html(TEXT, { headers: { ETag: '"v1"', Vary: "Cookie" } }));
app.get("/weak", () => html(TEXT, { headers: { ETag: 'W/"v1"', Vary: "Accept-Encoding" } }));
app.get("/fails", () => { throw Object.assign(new Error(TEXT), { status: 404 }); });
app.post("/text", async (req) => await req.text() + TEXT);
