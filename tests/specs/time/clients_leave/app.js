import { app, time } from "sampan";

let begun = 0;
let ended = 0;
let reason;
app.get("/long", async () => {
  begun += 1;
  await time.sleep(0.25);
  ended += 1;
  return "late";
});
app.get("/rethrown", async (req) => {
  const { signal } = req;
  try {
    await time.sleep(0.25);
  } finally {
    reason = `${signal.reason.name} ${signal.reason.code}`;
    signal.throwIfAborted();
  }
});
app.get("/reason", () => reason);
app.get("/count", () => ({ begun, ended }));
