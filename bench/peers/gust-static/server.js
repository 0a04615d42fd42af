// Gust's static route, which its native part answers without JavaScript.
import { createRequire } from "node:module";

const { GustServer } = createRequire(import.meta.url)("@sylphx/gust-napi");
const server = new GustServer();
await server.addStaticRoute("GET", "/version", 200, "application/json", JSON.stringify({ version: "1.0" }));
await server.serveWithHostname(Number(process.env.PORT), "127.0.0.1");
// Nothing else keeps the process.
setInterval(() => {}, 1 << 30);
