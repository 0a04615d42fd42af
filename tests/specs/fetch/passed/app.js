import { app, text } from "sampan";

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
