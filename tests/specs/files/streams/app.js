import { app, files, stream } from "sampan";

app.post("/copy", { stream: true, bodyBytesMax: "10 MB" }, async (req) => {
  const writer = await files.create("in/copy");
  for await (const chunk of req.body) await writer.write(chunk);
  const before = files.exists("in/copy");
  await writer.close();
  return { before, size: files.stat("in/copy").size };
});
app.get("/send", async () => {
  const source = await files.open("in/copy");
  return stream(async (write) => {
    for (let piece; (piece = await source.read()); ) await write(piece);
  });
});
app.get("/unfinished", async () => {
  const writer = await files.create("in/never");
  await writer.write("x");
  return "left";
});
app.get("/never", () => ({ exists: files.exists("in/never"), all: files.list("in") }));
app.get("/closed", async () => {
  const stream = await files.open("in/copy");
  stream.close();
  await stream.read();
});
let kept;
app.get("/keep", async () => { kept = await files.open("in/copy"); return "kept"; });
app.get("/kept", async () => await kept.read());
