import { app, text, log } from "sampan";

app.use("/private/*", (req, next) => {
  if (req.query.key !== "yes") return text("no key", 401);
  return next();
});

app.group("/private", (group) => {
  group.ws("/:room", {
    message(ws, message) { ws.send(`${ws.req.params.room}: ${message}`); },
  });
});

app.ws("/echo", {
  open(ws) { ws.send("hello"); },
  message(ws, message, isText) {
    if (isText) ws.send(message);
    else ws.sendBytes(message);
  },
  close(ws, code, reason) { log.info(`closed ${code} ${reason} ${ws.send("late")}`); },
});

app.ws("/tools", {
  protocols: ["chat.v2", "chat.v1"],
  message(ws, message) {
    if (message === "json") ws.sendJson({ list: [1, 2] });
    else if (message === "ping") ws.ping("are you there");
    else if (message === "close") {
      ws.send("bye");
      ws.close(4001, "done");
      ws.send("never");
    } else if (message === "bytes") ws.sendBytes("ab");
  },
});
