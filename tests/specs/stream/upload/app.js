import { app, stream, time } from "sampan";

async function count(req) {
  let bytes = 0;
  for await (const chunk of req.body ?? []) {
    if (!(chunk instanceof Uint8Array) || chunk.length === 0) throw new Error("no chunk");
    bytes += chunk.length;
  }
  return { bytes };
}

const large = { stream: true, bodyBytesMax: "1 MB" };
app.post("/count", large, count);
app.post("/small", { stream: true, bodyBytesMax: 10 }, count);
app.post("/general", { stream: true }, count);
app.post("/ordinary", count);
app.post("/text", large, (req) => req.text());
app.post("/json", large, (req) => req.json());
app.post("/form", large, (req) => req.form());
app.post("/bytes", large, async (req) => ({ bytes: (await req.bytes()).length }));
app.post("/echo", large, (req) => new Response(req.body));
app.post("/early", large, (req) => stream(async (write) => {
  await write("begun;");
  await write(String((await count(req)).bytes));
}));
app.post("/unread", large, () => "not read");
app.post("/first", large, async (req) => {
  for await (const chunk of req.body ?? []) return { first: chunk.length > 0 };
  return { first: false };
});
app.post("/waits", large, async (req) => {
  const reader = req.body.getReader();
  for (let bytes = 0; ;) {
    const { value, done } = await reader.read();
    if (done) return { bytes };
    await time.sleep(0.002);
    bytes += value.length;
  }
});
app.get("/none", { stream: true }, count);
