import { app, time } from "sampan";

let ended;

app.ws("/", {
  backpressureBytesMax: "64 MB",
  async message(ws, message) {
    if (message === "flood") {
      const large = "x".repeat(4000000);
      for (let at = 0; at < 8; at++) ws.send(large);
    } else {
      while (!ended) await time.sleep(0.05);
      ws.send(`ended with ${ended}`);
    }
  },
  close(_, code) { ended ??= code; },
});
