// Node.js with the package ws: an echo, and messages to all.
const http = require("node:http");
const { WebSocketServer } = require("ws");

const options = { noServer: true, perMessageDeflate: false };
const echo = new WebSocketServer(options);
const publish = new WebSocketServer(options);

echo.on("connection", (ws) => {
  ws.on("message", (message, isBinary) => ws.send(message, { binary: isBinary }));
});
publish.on("connection", (ws) => {
  ws.on("message", (message, isBinary) => {
    for (const client of publish.clients) client.send(message, { binary: isBinary });
  });
  ws.send("subscribed");
});

const server = http.createServer((req, res) => {
  res.writeHead(200, { "Content-Type": "application/json" });
  res.end(JSON.stringify({ version: "1.0" }));
});
server.on("upgrade", (req, socket, head) => {
  const sockets = req.url === "/publish" ? publish : echo;
  sockets.handleUpgrade(req, socket, head, (ws) => sockets.emit("connection", ws, req));
});
server.listen(Number(process.env.PORT), "127.0.0.1");
