import { app, cache, time } from "sampan";

app.get("/values", () => {
  cache.set("text", "größe");
  cache.set("bytes", new Uint8Array([255, 0]));
  cache.set("number", 1.5);
  cache.set("flag", false);
  cache.set("list", []);
  cache.set("map", { a: [1, null, { b: "x" }] });
  cache.set("nothing", null);
  const bytes = cache.get("bytes");
  return {
    text: cache.get("text"),
    bytes: bytes instanceof Uint8Array && bytes.join() === "255,0",
    number: cache.get("number"),
    flag: cache.get("flag"),
    list: cache.get("list"),
    map: cache.get("map"),
    nothing: cache.get("nothing") == null,
    missing: cache.get("missing") == null,
  };
});
app.get("/cut", () => {
  cache.set("cut", { text: "caf\ud83d", "n\ude00": ["\ud83d\ude00", "\\ud83d"] });
  return cache.get("cut");
});
app.get("/copies", () => {
  const value = { list: [1] };
  cache.set("copy", value);
  value.list.push(2);
  cache.get("copy").list.push(3);
  return cache.get("copy");
});
app.get("/delete", () => {
  cache.set("gone", 1);
  cache.delete("gone");
  cache.delete("never there");
  return { gone: cache.get("gone") == null };
});
app.get("/ttl", async () => {
  cache.set("short", 1, { ttl: 0.02 });
  cache.set("long", 1, { ttl: 3600 });
  cache.set("again", 1, { ttl: 0.02 });
  cache.set("again", 2);
  await time.sleep(0.05);
  return { short: cache.get("short") == null, long: cache.get("long"), again: cache.get("again") };
});
app.get("/full", () => {
  const text = "x".repeat(3000);
  cache.set("a", text);
  cache.set("b", text);
  cache.set("c", text);
  cache.get("a");
  cache.set("d", text);
  return Object.fromEntries(["a", "b", "c", "d"].map((key) => [key, cache.get(key) != null]));
});
app.get("/large", () => cache.set("large", "x".repeat(20000)));
app.get("/function", () => cache.set("f", () => {}));
app.get("/key", () => cache.get(""));
app.get("/long-key", () => cache.get("x".repeat(1025)));
app.get("/no-ttl", () => cache.set("a", 1, { ttl: 0 }));
app.get("/option", () => cache.set("a", 1, { maxAge: 1 }));
