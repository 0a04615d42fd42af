// TextEncoder, TextDecoder, atob and btoa.
test("encodes UTF-8", () => {
  const encoder = new TextEncoder();
  equal(encoder.encoding, "utf-8");
  equal([...encoder.encode("aß€😀")], [0x61, 0xc3, 0x9f, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98, 0x80]);
  equal([...encoder.encode("\uD83D")], [0xef, 0xbf, 0xbd]);
  equal(encoder.encode().length, 0);
  equal([...encoder.encode(undefined)], []);
  equal([...encoder.encode("a\0b")], [97, 0, 98]);
});
test("encodeInto stops at whole characters", () => {
  const encoder = new TextEncoder();
  const target = new Uint8Array(4);
  equal(encoder.encodeInto("a€€", target), { read: 2, written: 4 });
  equal([...target], [0x61, 0xe2, 0x82, 0xac]);
  equal(encoder.encodeInto("😀", new Uint8Array(3)), { read: 0, written: 0 });
  equal(encoder.encodeInto("😀x", new Uint8Array(5)), { read: 3, written: 5 });
  throws(TypeError, () => encoder.encodeInto("", new Uint16Array(1)));
});
test("decodes UTF-8 with replacement, or fatally", () => {
  const bad = [bytes(0xff), bytes(0xc3), bytes(0xed, 0xa0, 0x80), bytes(0xf4, 0x90, 0x80, 0x80), bytes(0xc0, 0x80)];
  equal(bad.map((input) => new TextDecoder().decode(input)), ["\uFFFD", "\uFFFD", "\uFFFD".repeat(3), "\uFFFD".repeat(4), "\uFFFD\uFFFD"]);
  for (const input of bad) throws(TypeError, () => new TextDecoder("utf-8", { fatal: true }).decode(input));
  equal(new TextDecoder("utf8", { fatal: true }).decode(bytes(0xe2, 0x82, 0xac)), "€");
});
test("handles the byte order mark", () => {
  const input = bytes(0xef, 0xbb, 0xbf, 0x61);
  equal(new TextDecoder().decode(input), "a");
  equal(new TextDecoder("utf-8", { ignoreBOM: true }).decode(input), "\uFEFFa");
  equal(new TextDecoder().decode(bytes(0xff, 0xfe)), "\uFFFD\uFFFD");
});
test("decodes a stream byte by byte", () => {
  const text = "aß€😀z";
  const decoder = new TextDecoder();
  let out = "";
  for (const byte of new TextEncoder().encode(text)) out += decoder.decode(bytes(byte), { stream: true });
  out += decoder.decode();
  equal(out, text);
  equal(decoder.decode(bytes(0xe2), { stream: true }), "");
  equal(decoder.decode(), "\uFFFD");
  equal(decoder.decode(bytes(0x61)), "a", "usable again");
  const fatal = new TextDecoder("utf-8", { fatal: true });
  fatal.decode(bytes(0xe2), { stream: true });
  throws(TypeError, () => fatal.decode());
});
test("knows labels and other encodings", () => {
  equal(new TextDecoder(" UTF8 ").encoding, "utf-8");
  equal(new TextDecoder("latin1").encoding, "windows-1252");
  equal(new TextDecoder("latin1").decode(bytes(0x80, 0xe4)), "€ä");
  equal(new TextDecoder("utf-16le").decode(bytes(0x61, 0, 0x3d, 0xd8, 0x00, 0xde)), "a😀");
  equal(new TextDecoder("shift_jis").decode(bytes(0x82, 0xa0)), "あ");
  throws(RangeError, () => new TextDecoder("nonsense"));
  throws(RangeError, () => new TextDecoder("replacement"));
});
test("takes any buffer source", () => {
  const buffer = bytes(0x61, 0x62, 0x63, 0x64).buffer;
  const decoder = new TextDecoder();
  equal(decoder.decode(buffer), "abcd");
  equal(decoder.decode(new DataView(buffer, 1, 2)), "bc");
  equal(decoder.decode(new Uint16Array(buffer, 2, 1)), "cd");
  equal(decoder.decode(), "");
  throws(TypeError, () => decoder.decode("abc"));
  throws(TypeError, () => decoder.decode({}));
});
test("atob and btoa", () => {
  equal(btoa("hello\xff"), "aGVsbG//");
  equal(atob("aGVsbG//"), "hello\xff");
  equal([btoa(""), btoa("a"), btoa("ab"), btoa("abc"), btoa(null)], ["", "YQ==", "YWI=", "YWJj", "bnVsbA=="]);
  equal([atob("YQ"), atob("YQ=="), atob(" Y\nW\tJ\fj\r "), atob("")], ["a", "a", "abc", ""]);
  throws("InvalidCharacterError", () => btoa("€"));
  throws(TypeError, () => btoa());
  throws(TypeError, () => atob());
  equal([btoa(undefined), atob.name, btoa.length], ["dW5kZWZpbmVk", "atob", 1]);
  for (const bad of ["Y", "YQ=", "YQ===", "=", "Y=Q=", "YW-j", "YQ==YQ==", "\u00a0"]) {
    const error = throws("InvalidCharacterError", () => atob(bad), bad);
    ok(error instanceof DOMException && error.code === 5);
  }
});
test("encoding streams keep halves together", async () => {
  const encoded = new ReadableStream({
    start(controller) {
      for (const part of ["a\uD83D", "\uDE00b", "\uD83D"]) controller.enqueue(part);
      controller.close();
    },
  }).pipeThrough(new TextEncoderStream());
  const all = [];
  for await (const chunk of encoded) all.push(...chunk);
  equal(all, [0x61, 0xf0, 0x9f, 0x98, 0x80, 0x62, 0xef, 0xbf, 0xbd]);
  const decoded = ReadableStream.from([bytes(0xe2, 0x82), bytes(0xac, 0x21), bytes(0xc3)]).pipeThrough(new TextDecoderStream());
  let text = "";
  for await (const chunk of decoded) text += chunk;
  equal(text, "€!\uFFFD");
});
