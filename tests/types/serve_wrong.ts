// What `serve` of the npm package refuses. Each marked line must be an error.
import { serve } from "sampan";

const fetch = () => "x";
// @ts-expect-error a name that no option has
serve({ port: 0, fetch, prot: 1 });
// @ts-expect-error neither routes nor fetch
serve({ port: 0 });
// @ts-expect-error no name
serve({ hostname: 5, fetch });
// @ts-expect-error message is missing
serve({ fetch, websocket: {} });
// @ts-expect-error no certificate is a number
serve({ fetch, tls: { cert: 1, key: "x" } });
// @ts-expect-error the data has no such key
serve({ fetch, websocket: { data: {} as { name: string }, message: (ws) => void ws.data.colour } });
// @ts-expect-error a text is not sent as bytes
serve({ fetch, websocket: { message: (ws) => void ws.sendBinary("x") } });
// @ts-expect-error the pattern has no such parameter
serve({ routes: { "/users/:id": (req) => req.params.name } });
// @ts-expect-error no method
serve({ routes: { "/users": { FETCH: fetch } } });
// @ts-expect-error a promise is no route
serve({ routes: { "/users": Promise.resolve(new Response("x")) } });

const server = serve({ fetch });
// @ts-expect-error a port stays
server.reload({ port: 5 });
// @ts-expect-error it is only told
server.port = 5;
