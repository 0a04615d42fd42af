import { app, crypto, stream, text } from "sampan";

const TEXT = "all work and no play makes jack a dull boy. ".repeat(20);

app.get("/encoded", () => text(TEXT, { headers: { "Content-Encoding": "identity" } }));
app.get("/no_transform", () => text(TEXT, { headers: { "Cache-Control": "max-age=60, no-transform" } }));
app.get("/image", () => text(TEXT, { headers: { "Content-Type": "image/png" } }));
app.get("/range", () => text(TEXT, { status: 206, headers: { "Content-Range": "bytes 0-879/2000" } }));
app.get("/stream", () => stream(async (write) => { await write(TEXT); }, { headers: { "Content-Type": "text/plain" } }));
app.get("/random", () => new Response(crypto.randomBytes(1000), { headers: { "Content-Type": "application/json" } }));
