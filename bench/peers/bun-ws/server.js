// Bun.serve with WebSockets: an echo, and messages to all.
const echo = { message: (ws, message) => { ws.send(message); } };
const publish = {
  open(ws) {
    ws.subscribe("all");
    ws.send("subscribed");
  },
  message: (ws, message) => { server.publish("all", message); },
};

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT),
  development: false,
  fetch(req, server) {
    const { pathname } = new URL(req.url);
    if (pathname === "/version") return Response.json({ version: "1.0" });
    const handlers = pathname === "/publish" ? publish : echo;
    if (server.upgrade(req, { data: handlers })) return;
    return new Response("not a WebSocket", { status: 400 });
  },
  websocket: {
    perMessageDeflate: false,
    open: (ws) => ws.data.open?.(ws),
    message: (ws, message) => ws.data.message(ws, message),
  },
});
