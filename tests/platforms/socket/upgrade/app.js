import { app, log, upgrade } from "sampan";

app.get("/echo", (req) => {
  const { socket, response } = upgrade(req, { messageBytesMax: 1000, protocol: ["b", "a"] });
  socket.binaryType = "arraybuffer";
  socket.onopen = (event) => socket.send(`${event.type} ${socket.readyState} ${socket.protocol}`);
  socket.onmessage = async ({ data, target }) => {
    if (data === "throw") throw new Error("on purpose");
    if (data === "wait") await new Promise((done) => setTimeout(done, 1));
    if (data === "target") return socket.send(String(target === socket && socket instanceof EventTarget));
    socket.send(typeof data === "string" ? data : new DataView(data, 1, 1));
  };
  socket.addEventListener("error", () => log.info(`error ${socket.readyState}`));
  socket.addEventListener("close", ({ code, reason, wasClean }) => log.info(`closed ${code} ${reason} ${wasClean}`));
  return response;
});
