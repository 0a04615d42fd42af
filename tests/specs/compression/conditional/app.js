import { app, html } from "sampan";

const TEXT = "all work and no play makes jack a dull boy. ".repeat(20);

app.get("/page", { etag: true }, () => TEXT);
app.get("/own", { etag: true }, () => html(TEXT, { headers: { ETag: 'W/"v1"' } }));
app.get("/plain", { etag: true, compress: false }, () => TEXT);
