// Bodies and header fields, as measured by `cargo xtask bench hello`:  sampan run examples/bench_bodies/app.js
import { app, text } from "sampan";

const headers = {};
for (let at = 1; at <= 20; at++) headers[`x-field-${at}`] = `the value of field ${at}`;

app.get("/headers", () => text("ok", { headers }));

app.post("/length", async (req) => {
  const body = await req.text();
  return { length: body.length };
});

app.post("/count", async (req) => {
  const items = await req.json();
  return { count: items.length, last: items[items.length - 1].id };
});

const of = (bytes) => "0123456789".repeat(bytes / 10);
const [small, medium, large] = [of(10_000), of(100_000), of(1_000_000)];

app.get("/text/10k", () => small);
app.get("/text/100k", () => medium);
app.get("/text/1m", () => large);
