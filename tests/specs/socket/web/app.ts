import { app, log, upgrade } from "sampan";

app.use("/in/*", (req, next) => {
  req.state.name = "ann";
  return next(req);
});

app.get("/echo", (req) => {
  const { socket, response } = upgrade(req, { messageBytesMax: 1000 });
  const early = socket.readyState;
  try {
    socket.send("too early");
  } catch (error) {
    log.info(`early ${early} ${(error as Error).name}`);
  }
  socket.onopen = (event) => socket.send(`${event.type} ${socket.readyState} ${socket.url.replace(/:\d+/, "")}`);
  socket.addEventListener("message", (event) => {
    if (typeof event.data === "string") socket.send(event.data);
  });
  socket.onmessage = async ({ data, target }) => {
    if (data === "wait") await new Promise((done) => setTimeout(done, 1));
    if (typeof data !== "string") socket.send(new Uint8Array(await data.arrayBuffer()));
    if (data === "target") socket.send(String(target === socket && socket instanceof EventTarget));
    if (data === "name") socket.send(Object.prototype.toString.call(socket));
  };
  socket.onerror = () => log.info(`error ${socket.readyState}`);
  socket.onclose = ({ code, reason, wasClean }) => {
    socket.send("dropped");
    log.info(`closed ${code} ${reason} ${wasClean} ${socket.readyState}`);
  };
  return response;
});

app.get("/tools", (req) => {
  const { socket, response } = upgrade(req, { protocol: ["b", "a"] });
  socket.binaryType = "arraybuffer";
  const once = ({ data }: { data: any }) => socket.send(`once ${data}`);
  socket.addEventListener("message", once, { once: true });
  const gone = () => socket.send("gone");
  socket.addEventListener("message", gone);
  socket.removeEventListener("message", gone);
  socket.addEventListener("message", ({ data }) => {
    if (data instanceof ArrayBuffer) socket.send(new DataView(data, 1, 1));
    else if (data === "protocol") socket.send(`${socket.protocol} ${socket.bufferedAmount} ${socket.binaryType}`);
    else if (data === "blob") {
      socket.send(new Blob(["of a blob"]));
      socket.send("behind it");
    } else if (data === "codes") {
      for (const code of [999, 1001, 5000]) {
        try {
          socket.close(code);
        } catch (error) {
          socket.send(`${code} ${(error as Error).name}`);
        }
      }
      socket.close(4000, "enough");
      socket.close(4001, "twice");
      socket.send("dropped");
    } else if (data === "throw") throw new Error("on purpose");
  });
  return response;
});

app.get("/in/x", (req) => {
  const { socket, response } = upgrade(req);
  socket.onmessage = () => socket.send(req.state.name);
  return response;
});

app.get("/closed", (req) => {
  const { socket, response } = upgrade(req);
  socket.onopen = () => socket.send("never");
  socket.close(4002, "at once");
  return response;
});

app.get("/twice", (req) => {
  const { response } = upgrade(req);
  upgrade(req);
  return response;
});

app.get("/wrong", (req) => upgrade(req, { colour: "red" } as {}).response);
