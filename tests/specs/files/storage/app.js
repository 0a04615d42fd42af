import { app, files, time } from "sampan";

app.get("/write", async () => {
  await files.write("a/b/note.txt", "hello");
  await files.append("a/b/note.txt", " world");
  await files.append("log", "1\n");
  return { text: files.read("a/b/note.txt"), same: await files.readAsync("log"), bytes: (await files.bytes("log")).length };
});
app.get("/replace", async () => {
  await files.write("a/b/note.txt", "new");
  return files.read("a/b/note.txt");
});
app.get("/look", () => {
  const stat = files.stat("log");
  const age = time.now() - stat.modified;
  return {
    all: files.list(), sub: files.list("a/b"), type: stat.type, size: stat.size, fresh: age > -5 && age < 60,
    folder: files.stat("a").type, nothing: files.stat("none") === null, there: files.exists("a"), absent: files.exists("none"),
  };
});
app.get("/move", async () => {
  await files.rename("log", "old/log");
  await files.mkdir("empty/inner");
  return [
    files.exists("log"), files.read("old/log"), await files.remove("empty/inner"), await files.remove("empty/inner"),
    files.list("empty"),
  ];
});
app.get("/bytes", async () => {
  await files.write("raw", new Uint8Array([0, 255, 120]));
  const raw = await files.bytes("raw");
  return [raw.length, raw[0], raw[1]];
});
app.get("/large", async () => {
  await files.write("large", "x".repeat(300000));
  return [(await files.readAsync("large")).length, (await files.bytes("large")).length];
});
app.get("/inline", () => files.read("large").length);
