import { app, text } from "sampan";

app.get("/taken.txt", () => "route");
app.get("/items/:id", (req) => `item ${req.params.id}`);
app.post("/hello.txt", () => "posted");
app.get("/*rest", (req) => text(`rest ${req.params.rest}`, 404));
