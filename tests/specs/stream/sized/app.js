import { app, cache, stream, time } from "sampan";

const sized = (fn, length) => stream(fn, { headers: { "content-length": length } });

// Its client has the whole before the function ends: what it waits for comes after that.
app.get("/waits", () => sized(async (write) => {
  await write("ab");
  await write("c");
  while (!cache.get("go")) await time.sleep(0.002);
}, "3"));
app.get("/go", () => cache.set("go", true));
