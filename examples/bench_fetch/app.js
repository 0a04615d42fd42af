// Requests to another server, as measured by `cargo xtask bench fetch`. ORIGIN is that server's URL, and STREAMS that
// of one with large bodies.
import { app, env } from "sampan";

const ITEM = (env.get("ORIGIN") ?? "http://127.0.0.1:8081") + "/item";
const STREAMS = env.get("STREAMS") ?? "http://127.0.0.1:8082";

app.get("/version", { version: "1.0" });

// For a server that asks itself, where none is to be measured.
app.get("/item", { id: 7, name: "Ada Lovelace", tags: ["math", "engine"] });

// The answer is passed on.
app.get("/passed", () => fetch(ITEM));

// The answer is parsed, and a part of it is sent.
app.get("/read", async () => {
  const { id, name } = await (await fetch(ITEM)).json();
  return { id, name };
});

// Large bodies are passed on as they come.
app.get("/download/:bytes", (req) => fetch(`${STREAMS}/${req.params.bytes}`));
app.post("/upload", { stream: true, bodyBytesMax: "2 GB" }, (req) =>
  fetch(STREAMS, { method: "POST", body: req.body, duplex: "half" }));
