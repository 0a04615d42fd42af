import { log } from "sampan";
import { upgradeWebSocket } from "sampan/hono";

const echo = upgradeWebSocket((c) => ({
  onOpen: (event, ws) => ws.send(`${event.type} ${c.req.header("x-name")} ${ws.readyState} ${ws.url.pathname}`),
  onMessage({ data }, ws) {
    if (data === "close") ws.close(4000, "enough");
    else ws.send(typeof data === "string" ? `you said ${data}` : `${data.byteLength} bytes`);
  },
  onClose: ({ code }) => log.info(`closed ${code}`),
}));

// What Hono calls a handler with.
const contextOf = (raw) => ({ req: { raw, header: (name) => raw.headers.get(name) ?? undefined } });

export default {
  fetch: (request) => echo(contextOf(request), () => new Response("a page")),
};
