import { app, html, json, redirect, text } from "sampan";

app.get("/json", () => json({ a: 1 }));
app.get("/json/status", () => app.json({ a: 1 }, 201));
app.get("/json/options", () => json([1], { status: 202, headers: { "X-A": "b" } }));
app.get("/html", () => html("<p>é</p>"));
app.get("/text", () => text("hi", { status: 203 }));
app.get("/type", () => text("a,b", { headers: { "Content-Type": "text/csv" } }));
app.get("/redirect", () => redirect("/there?x=1"));
app.get("/moved", () => redirect("/there", 301));
app.get("/bad/status", () => json({}, 99));
app.get("/bad/option", () => json({}, { statuss: 200 }));
app.get("/bad/third", () => app.html("x", 201, { headers: { "x-a": "b" } }));
app.get("/bad/third_of_json", () => app.json([], 201, {}));
