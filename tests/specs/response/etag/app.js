import { app, text } from "sampan";

app.get("/list", { etag: true }, () => [1, 2, 3]);
app.get("/fixed", { etag: true }, "always the same");
app.get("/own", { etag: true }, () => text("mine", { headers: { etag: '"v1"', "cache-control": "no-cache" } }));
app.get("/long", { etag: true }, () => "all work and no play ".repeat(100));
app.get("/failed", { etag: true }, () => text("no", 403));
app.get("/without", () => "plain");
app.get("/empty", { etag: true }, () => {});
