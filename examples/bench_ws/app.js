// What `cargo xtask bench ws` measures: an echo, and messages to all.
import { app } from "sampan";

app.get("/version", { version: "1.0" });

app.ws("/echo", {
  message(ws, message) { ws.send(message); },
});

app.ws("/publish", {
  open(ws) {
    ws.subscribe("all");
    ws.send("subscribed");
  },
  message(ws, message) { app.publish("all", message); },
});
