// What `cargo xtask bench stream` measures: large bodies, both ways.
import { app } from "sampan";

// Counts what comes.
app.post("/upload", { stream: true, bodyBytesMax: "1 GB" }, async (req) => {
  let bytes = 0;
  for await (const chunk of req.body) bytes += chunk.length;
  return { bytes };
});

// 102.4 MB in chunks of 64 kB.
const chunk = new Uint8Array(64000).fill(120);
app.get("/download", () => {
  let left = 1600;
  return new Response(new ReadableStream({
    pull(controller) {
      controller.enqueue(chunk);
      left -= 1;
      if (left === 0) controller.close();
    },
  }));
});
