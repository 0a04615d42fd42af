import { app, stream, text } from "sampan";

const up = (req, path) => `http://${req.headers.get("host")}/up/${path}`;

app.post("/up/length", { stream: true }, async (req) => {
  let bytes = 0;
  for await (const chunk of req.body) bytes += chunk.length;
  const [length, coding] = [req.headers.get("content-length"), req.headers.get("transfer-encoding")];
  return { bytes, length: length ?? undefined, coding: coding ?? undefined };
});

app.post("/upload", { stream: true }, (req) =>
  fetch(up(req, "length"), { method: "POST", headers: req.headers, body: req.body, duplex: "half" }));
app.post("/without", { stream: true }, (req) =>
  fetch(up(req, "length"), { method: "POST", body: req.body, duplex: "half" }));
app.get("/strange", (req) => fetch(`http://${req.headers.get("x-strange")}/`));
app.get("/own", () => text("strange", 999));

// The body of an answer of its own length. It has `bytes` of the 300000 that are declared.
app.get("/up/sized/:bytes", (req) => {
  const write = async (write) => {
    for (let left = Number(req.params.bytes); left > 0; left -= 70000) await write("x".repeat(Math.min(left, 70000)));
  };
  return stream(write, { headers: { "content-length": "300000", "content-type": "text/plain" } });
});
app.get("/sized", (req) => fetch(up(req, "sized/300000")));
const plain = { headers: { "content-type": "text/plain" } };
app.get("/up/pieces", () => stream((write) => write("x".repeat(300000)), plain));
app.get("/pieces", (req) => fetch(up(req, "pieces")));
