import { app, log, time } from "sampan";

app.ws("/", {
  messageBytesMax: 1000,
  async message(ws, message) {
    if (message === "leave") return ws.close(4000, "ours");
    if (message === "throw") throw new Error("as asked");
    if (message === "loop") for (;;);
    if (message === "later") {
      await time.sleep(0.01);
      throw new Error("late");
    }
    ws.send(message);
  },
  close(ws, code) { log.info(`ended with ${code}`); },
});
app.ws("/odd", { upgrade: () => "yes" });
app.ws("/opens", { open() { throw new Error("cannot open"); } });
