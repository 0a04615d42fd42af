// Streams that are made in the slow lane.
import { app, db, stream, time } from "sampan";

const SLOW = { slow: true };

db.exec("CREATE TABLE IF NOT EXISTS notes (text TEXT)");
const seen = {};

app.get("/chunks", SLOW, () => stream(async (write) => {
  for (let at = 1; at <= 5; at++) {
    await write(`${at};`);
    await time.sleep(0.002);
  }
  await write(String(app.worker.index));
}));
app.get("/writes", SLOW, () => stream(async (write) => {
  db.exec("INSERT INTO notes (text) VALUES ('a')");
  await write("written;");
  await write(String(db.one("SELECT count(*) AS n FROM notes").n));
}));
app.get("/big", SLOW, () => stream(async (write) => {
  for (let at = 0; at < 200; at++) await write("x".repeat(10000));
}));
app.get("/fails", SLOW, () => stream(async (write) => {
  await write("before");
  await time.sleep(0.005);
  throw new Error("behind the first chunk");
}));
app.get("/endless", SLOW, () => stream(async (write) => {
  seen.endless = "runs";
  try {
    for (;;) {
      await write("tick\n");
      await time.sleep(0.005);
    }
  } catch (error) {
    seen.endless = "given up";
    throw error;
  }
}));
app.get("/seen/:name", SLOW, (req) => seen[req.params.name] ?? "nothing");
app.post("/upload", { slow: true, stream: true, bodyBytesMax: "1 MB" }, async (req) => {
  let bytes = 0;
  for await (const chunk of req.body) bytes += chunk.length;
  return { bytes, index: app.worker.index };
});
