// Hono's helper for WebSockets (https://hono.dev/docs/helpers/websocket) on `upgrade`, without a copy of Hono.
import { upgrade } from "sampan";

// What Hono's types call WSContext.
class SocketContext {
  #socket;
  constructor(socket) {
    this.#socket = socket;
    this.raw = socket;
    this.url = new URL(socket.url);
  }
  get binaryType() { return this.#socket.binaryType; }
  set binaryType(type) { this.#socket.binaryType = type; }
  get protocol() { return this.#socket.protocol; }
  get readyState() { return this.#socket.readyState; }
  send(data) { this.#socket.send(data); }
  close(code, reason) { this.#socket.close(code, reason); }
}

const isAsked = (c) => c.req.header("upgrade")?.toLowerCase() === "websocket";

function accept(c, events, options) {
  const { socket, response } = upgrade(c.req.raw, options);
  socket.binaryType = "arraybuffer";
  const context = new SocketContext(socket);
  socket.onopen = (event) => events.onOpen?.(event, context);
  socket.onmessage = (event) => events.onMessage?.(event, context);
  socket.onclose = (event) => events.onClose?.(event, context);
  socket.onerror = (event) => events.onError?.(event, context);
  return response;
}

// `upgradeWebSocket(createEvents, options)` is middleware; `upgradeWebSocket(c, events, options)` answers one request.
export function upgradeWebSocket(...args) {
  if (typeof args[0] !== "function") {
    const [c, events, options] = args;
    if (!isAsked(c)) throw new Error("Failed to upgrade WebSocket");
    return Promise.resolve(accept(c, events, options));
  }
  const [createEvents, options] = args;
  return async (c, next) => {
    if (!isAsked(c)) return next();
    return accept(c, await createEvents(c), options);
  };
}
