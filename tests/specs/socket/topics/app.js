import { app, db } from "sampan";

db.exec("create table if not exists items (name text unique not null)");

app.ws("/rooms/:room", {
  open(ws) {
    ws.subscribe(`room:${ws.req.params.room}`);
    // Once more changes nothing.
    ws.subscribe(`room:${ws.req.params.room}`);
    ws.send("ready");
  },
  message(ws, text) {
    const topic = `room:${ws.req.params.room}`;
    if (text === "json") {
      app.publish(topic, { a: 1 });
    } else if (text === "leave") {
      ws.send(String(ws.unsubscribe(topic)));
      ws.send(String(ws.unsubscribe(topic)));
    } else if (text === "store") {
      db.exec("insert into items (name) values ('a')");
      app.publish(topic, "stored");
    } else if (text === "name") {
      ws.subscribe("");
    } else if (text === "many") {
      for (let i = 1; i <= 1001; i++) ws.subscribe(`topic:${i}`);
    } else {
      app.publish(topic, text);
    }
  },
});
