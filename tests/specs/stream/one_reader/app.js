import { app, db } from "sampan";

const options = { stream: true, bodyBytesMax: "1 MB" };
let keptReader;
let kept;

app.post("/field", options, (req) => req.body);
app.post("/twice", options, async (req) => {
  await req.text();
  await req.text();
});
app.post("/text_then_chunks", options, async (req) => {
  await req.text();
  await req.bytes();
});
app.post("/chunks_then_text", options, async (req) => {
  await req.body.getReader().read();
  return req.text();
});
app.post("/keep", options, async (req) => {
  kept = req;
  keptReader = req.body.getReader();
  await keptReader.read();
  return "kept";
});
const outcome = async (act) => {
  try {
    await act();
    return [true, "none"];
  } catch (error) {
    return [false, error.message];
  }
};
app.post("/after", async () => {
  const [ok, error] = await outcome(() => keptReader.read());
  const [whole, errorWhole] = await outcome(() => kept.text());
  return { ok, error, whole, error_whole: errorWhole };
});
app.post("/in_batch", options, (req) => db.batch(() => req.text()));
app.post("/at_once", options, async (req) => {
  const reader = req.body.getReader();
  // Reads that wait at the same time get the chunks in their order.
  const [first, second] = await Promise.all([reader.read(), reader.read()]);
  return { first: new TextDecoder().decode(first.value), done: second.done };
});
const decode = (bytes) => new TextDecoder().decode(bytes);
app.post("/release", options, async (req) => {
  const first = req.body.getReader();
  await 0;
  const lost = first.read();
  first.releaseLock();
  const error = await lost.catch((reason) => reason.message);
  const { value } = await req.body.getReader().read();
  return { error, text: decode(value) };
});
app.post("/tee", options, async (req) => {
  const [one, other] = req.body.tee();
  return [await new Response(one).text(), await new Response(other).text()];
});
app.post("/cancel", options, async (req) => {
  const reader = req.body.getReader();
  await reader.cancel("enough");
  return reader.read();
});
app.post("/transfer", options, async (req) => {
  const { value } = await req.body.getReader().read();
  const { length } = value;
  const grown = value.buffer.transfer(length + 100000);
  const small = grown.slice(0).transfer(10);
  const none = grown.transfer(0);
  return [length, value.length, new Uint8Array(small).join(), none.byteLength];
});
app.onError((_, err) => ({ error: err.message }));
