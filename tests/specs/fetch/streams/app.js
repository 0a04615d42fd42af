import { app, stream, time } from "sampan";

const up = (req, path) => `http://${req.headers.get("host")}/up/${path}`;

// What is asked. It waits for its reader in the middle.
let isRead = false;
app.get("/up/pieces", () => stream(async (write) => {
  await write("one ");
  while (!isRead) await time.sleep(0.005);
  await write("two");
}));
app.get("/up/fails", () => stream(async (write) => {
  await write("one");
  await time.sleep(0.01);
  throw new Error("no more");
}));
app.get("/up/large", () => stream(async (write) => {
  const piece = "x".repeat(65536);
  for (let i = 0; i < 64; i++) await write(piece);
}));
app.post("/up/count", { stream: true }, async (req) => {
  let [bytes, pieces] = [0, 0];
  for await (const chunk of req.body) [bytes, pieces] = [bytes + chunk.length, pieces + 1];
  return { bytes, is_many: pieces > 1, type: req.headers.get("content-type") };
});

app.get("/pieces", async (req) => {
  isRead = false;
  const res = await fetch(up(req, "pieces"));
  let text = "";
  for await (const chunk of res.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    isRead = true;
  }
  return text;
});
app.get("/text", async (req) => {
  isRead = true;
  return (await fetch(up(req, "pieces"))).text();
});
app.get("/pass/:what", (req) => {
  isRead = true;
  return fetch(up(req, req.params.what));
});
app.get("/large", async (req) => {
  let bytes = 0;
  for await (const chunk of (await fetch(up(req, "large"))).body) bytes += chunk.length;
  const whole = await (await fetch(up(req, "large"))).bytes();
  return { whole: whole.length, bytes };
});
app.get("/twice", async (req) => {
  isRead = true;
  const res = await fetch(up(req, "pieces"));
  await res.text();
  return res.text().catch((error) => error.message);
});
app.get("/fails", async (req) => {
  const res = await fetch(up(req, "fails"));
  try {
    await res.text();
  } catch (error) {
    return { ok: !(error instanceof TypeError), code: error.cause.code };
  }
});

const pieces = (make) => {
  let at = 0;
  return new ReadableStream({
    async pull(controller) {
      await time.sleep(0);
      if (!make(at++, controller)) controller.close();
    },
  });
};
const headers = { "content-type": "text/x" };
const bytes = new TextEncoder().encode("y".repeat(25000));
app.get("/upload", async (req) => {
  const body = pieces((at, controller) => at < 40 && (controller.enqueue(bytes), true));
  return (await fetch(up(req, "count"), { method: "POST", headers, body, duplex: "half" })).json();
});
app.post("/through", { stream: true }, (req) => fetch(up(req, "count"), { method: "POST", headers, body: req.body, duplex: "half" }));
app.get("/from-answer", async (req) => {
  const { body } = await fetch(up(req, "large"));
  return fetch(up(req, "count"), { method: "POST", headers, body, duplex: "half" });
});
app.get("/upload-fails", async (req) => {
  const body = pieces((at, controller) => {
    if (at > 0) throw new Error("no body today");
    controller.enqueue(bytes);
    return true;
  });
  return fetch(up(req, "count"), { method: "POST", body, duplex: "half" }).then(() => "sent", (error) => error.message);
});
