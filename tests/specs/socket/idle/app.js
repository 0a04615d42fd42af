import { app, time } from "sampan";

app.ws("/", {
  idleMillisMax: 1000,
  pingMillis: 0,
  async message(ws, message) {
    if (message === "slow") await time.sleep(1.5);
    ws.send(message);
  },
});
