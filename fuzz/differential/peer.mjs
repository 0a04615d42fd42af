// The Node peer of the differential fuzz target: reports each request that llhttp hands to the handler.
// Run by `sampan-fuzz differential`; prints its address and serves until it is killed.
import { createServer } from "node:http";

const server = createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  // Not emitted for a body that is not whole or not well-formed: such a request does not count as seen.
  request.on("end", () => {
    if (!request.complete) return;
    const hex = (text) => Buffer.from(text, "latin1").toString("hex");
    const body = Buffer.concat(pieces).toString("hex");
    response.setHeader("X-Seen", `${hex(request.method)}.${hex(request.url)}.${body}`);
    response.end();
  });
  request.on("error", () => {});
});
// Answers what has arrived although the client has closed its sending direction.
server.httpAllowHalfOpen = true;
server.listen(0, "127.0.0.1", () => {
  const { address, port } = server.address();
  console.log(`${address}:${port}`);
});
