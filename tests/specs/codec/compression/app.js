import { app, codec } from "sampan";

const TEXT = "hello ".repeat(100);
// A file of gzip that has nothing in it.
const EMPTY = codec.hexDecode("1f8b08000000000000ff03000000000000000000");
const text = (bytes) => bytes && new TextDecoder().decode(bytes);

function told(fn, ...args) {
  try {
    fn(...args);
    return "taken";
  } catch (error) {
    return error.message;
  }
}

app.get("/same", () => {
  const packed = codec.gzip(TEXT);
  const one = codec.gzip("one ");
  const members = new Uint8Array([...one, ...EMPTY]);
  return [
    packed.length < 100, text(codec.gunzip(packed)) === TEXT, text(codec.inflate(codec.deflate(TEXT))) === TEXT,
    text(codec.inflate(codec.deflate(TEXT, { raw: true, level: 9 }), { raw: true })) === TEXT,
    codec.gunzip(codec.gzip(new Uint8Array([0, 255]), { level: 0 })).join() === "0,255", text(codec.gunzip(members)) === "one ",
  ];
});
app.get("/damaged", () => {
  const packed = codec.gzip(TEXT);
  return [
    codec.gunzip("hello") === null, codec.gunzip("") === null, codec.gunzip(packed.slice(0, -1)) === null,
    codec.inflate(packed) === null, codec.inflate(codec.deflate(TEXT, { raw: true })) === null,
  ];
});
app.get("/bomb", () => {
  const bomb = codec.gzip(new Uint8Array(17 * 1024 * 1024));
  let code = "taken";
  try {
    codec.gunzip(bomb);
  } catch (error) {
    code = error.code;
  }
  return [code, told(codec.gunzip, bomb, { bytesMax: 1000 }), codec.gunzip(bomb, { bytesMax: 18000000 }).length];
});
app.get("/options", () => [
  told(codec.gzip, "x", { level: 10 }), told(codec.gunzip, "x", { bytesMax: 0 }), told(codec.deflate, "x", { raw: 1 }),
  told(codec.gzip, "x", { size: 1 }),
]);
