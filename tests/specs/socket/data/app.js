import { app, text } from "sampan";

app.ws("/:name", {
  async upgrade(req) {
    if (req.query.refuse) return text("not you", 403);
    return { name: req.params.name, count: 0 };
  },
  message(ws, message) {
    const { data } = ws;
    if (message === "keys") ws.send(Object.keys(data).sort().join(" "));
    else if (message === "replace") {
      ws.data = { other: true };
      ws.send(`${ws.data.other} ${ws.data.name === undefined ? "nil" : ws.data.name}`);
    } else if (message === "wrong") {
      try {
        ws.colour = "red";
      } catch (error) {
        ws.send(error.message.match(/a WebSocket has no field [^:]*/)[0]);
      }
    } else if (message === "req") {
      const { path, query, headers, params } = ws.req;
      ws.send(`${path} ${query.a} ${headers["x-b"]} ${params.name}`);
    } else if (message === "methods") {
      data.set("key", [1, 2]);
      ws.send(`${data.get("key").length} ${data.keys().length} ${ws.keys().join(" ")} ${ws.get("req").path}`);
      ws.set("data", { a: 1 });
      delete data.a;
      ws.send(data.a === undefined ? "nil" : String(data.a));
    } else if (message === "buffered") ws.send(`${ws.buffered} ${typeof ws.id}`);
    else {
      data.count += 1;
      ws.send(`${data.name} ${data.count}`);
    }
  },
});
