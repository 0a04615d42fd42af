import { app } from "sampan";

const up = (req, path) => `http://${req.headers.get("host")}/up/${path}`;

app.get("/up/endless", () => {
  const piece = "x".repeat(65536);
  return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new TextEncoder().encode(piece)) }));
});
app.post("/up/never", { stream: true }, async (req) => {
  for await (const _ of req.body);
});

app.get("/whole", async (req) => {
  try {
    await (await fetch(up(req, "endless"))).text();
    return { ok: true };
  } catch (error) {
    return { ok: false, code: error.cause?.code ?? null, message: error.message };
  }
});
app.get("/empty-pieces", async (req) => {
  const body = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(0)) });
  const sampan = { total: 0.3 };
  const sent = fetch(up(req, "never"), { method: "POST", body, duplex: "half", sampan });
  return sent.then(() => ({ ok: true }), (error) => ({ ok: false, code: error.cause?.code }));
});
