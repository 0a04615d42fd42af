import { app } from "sampan";

app.post("/form", async (req) => await req.form());
app.post("/text", async (req) => {
  const text = await req.text();
  return `${new TextEncoder().encode(text).length}:${text}`;
});
app.post("/bytes", async (req) => {
  const bytes = await req.bytes();
  return { length: bytes.length, first: bytes[0] ?? 0 };
});
