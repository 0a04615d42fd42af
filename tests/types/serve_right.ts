// `serve` of the npm package, as programs use it.
import { serve } from "sampan";
import type { ServedRequest, ServeHandler, ServeOptions, Server, ServerWebSocket } from "sampan";

const options: ServeOptions = { port: 0, fetch: () => new Response("x") };
const named = (req: ServedRequest<{ id: string }>) => req.params.id;
const any: ServeHandler = (req) => req.params.whatever;
interface User {
  id: string;
}

const server: Server = serve({
  port: 0,
  hostname: "127.0.0.1",
  routes: {
    "/version": Response.json({ version: "1" }),
    "/users/:id": (req) => Response.json({ id: req.params.id.toUpperCase() }),
    "/users/:id/posts/:post": (req) => `${req.params.id} ${req.params.post}`,
    "/files/*rest": (req) => ({ rest: req.params.rest }),
    "/all/*": (req) => req.params["*"],
    "/methods/:id": {
      GET: () => ["one"],
      POST: async (req) => Response.json(await req.json(), { status: 201 }),
      put: (req) => req.params.id,
      PATCH: new Response("always"),
      DELETE: undefined,
    },
    "/named/:id": named,
    "/interface/:id": (req: ServedRequest<User>) => req.params.id,
    "/any/:thing": any,
    "/plain": (req: Request) => req.url,
    "/server"(_, server) {
      return this.port + server.pendingRequests;
    },
    "/nothing": () => {},
    "/stream": () => new ReadableStream(),
    "/async": async () => true,
  },
  fetch: (req) => new Response(req.url, { status: 404 }),
  error: (error, request) => ({ error: error.message, at: request.url }),
  maxBody: 5,
});
serve(options);
serve({ routes: { "/only": () => "routes" } });
declare function ask(request: Request): Promise<Response>;
serve({ fetch: (request: Request) => ask(request), signal: undefined });
server.reload({ error: () => "only the error" });
server.reload({ routes: { "/users/:id": (req) => req.params.id } }).reload({ fetch: () => "x", development: true });
server.requestIP(new Request("http://x/"))?.address.toUpperCase();
server[Symbol.dispose]();
await server.stop();

const chat = serve({
  tls: [{ cert: "PEM", key: new Uint8Array(), serverName: "a.test" }, { certFile: "cert.pem", keyFile: "key.pem", passphrase: "x" }],
  fetch(req, server) {
    if (server.upgrade(req, { data: { name: "ann" }, headers: { "x-a": "1" } })) return;
    return new Response("no", { status: 426 });
  },
  websocket: {
    data: {} as { name: string },
    idleTimeout: 60,
    perMessageDeflate: { compress: "shared" },
    open: (ws) => ws.subscribe("chat"),
    message(ws, message) {
      const sent: number = typeof message === "string" ? ws.publishText("chat", message) : ws.sendBinary(message);
      ws.close(4000, `${ws.data.name} ${sent} ${message.length}`);
    },
    close(ws, code, reason) {
      console.log(code + 1, reason.length, ws.subscriptions, ws.isSubscribed("chat"));
    },
  },
});
const socket: ServerWebSocket<{ name: string }> | undefined = undefined;
console.log(socket, chat.publish("chat", new ArrayBuffer(1), true) + chat.subscriberCount("chat") + chat.pendingWebSockets);
