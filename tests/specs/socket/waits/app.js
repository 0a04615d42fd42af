import { app, time } from "sampan";

app.ws("/", {
  async message(ws, message) {
    if (message === "slow") await time.sleep(0.05);
    ws.send(message);
  },
});
