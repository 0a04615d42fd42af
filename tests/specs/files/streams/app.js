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
const works = async (promise) => {
  try {
    await promise;
    return true;
  } catch {
    return false;
  }
};
app.get("/many", async () => {
  // One that is read to its end, or whose writer fails, is open no more.
  for (let i = 0; i < 101; i++) {
    const stream = await files.open("in/copy");
    while (await stream.read());
    if (await stream.read()) throw new Error("there is more");
    const writer = await files.create("in");
    await works(writer.close());
  }
  const open = [];
  for (let i = 1; i <= 99; i++) open.push(await files.open("in/copy"));
  const writer = await files.create("in/other");
  let ok = true, fault;
  try {
    await files.open("in/copy");
  } catch (error) {
    ok = false;
    fault = error.message;
  }
  const created = await works(files.create("in/new"));
  const lines = await works(files.lines("in/copy", () => {}));
  open[0].close();
  open[0].close();
  const again = await works(files.open("in/copy"));
  const full = await works(files.open("in/copy"));
  await writer.close();
  await files.remove("in/other");
  const last = await works(files.create("in/new"));
  return { ok, fault, created, lines, again, full, last };
});
let kept;
app.get("/keep", async () => { kept = await files.open("in/copy"); return "kept"; });
app.get("/kept", async () => await kept.read());
