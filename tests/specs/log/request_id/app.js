import { app, log } from "sampan";

app.get("/id", (req) => { log.info("seen"); return req.id; });
app.get("/quiet", () => "quiet");
app.get("/own", (req) => new Response(req.id, { headers: { "x-request-id": "own" } }));
app.get("/boom", () => { throw new Error("boom"); });
