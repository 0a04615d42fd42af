import { app, cache, db, time } from "sampan";

app.onStart(async () => {
  await db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)");
  await db.exec("CREATE TABLE IF NOT EXISTS calls (n INTEGER)");
});

const ADD = "INSERT INTO t (name) VALUES (?)";
async function told(fn, ...args) {
  try {
    await fn(...args);
    return "taken";
  } catch (error) {
    return /not a whole number/.exec(error.message)?.[0] ?? error.message;
  }
}

app.get("/get/:key", async (req) => ({ value: (await cache.get(req.params.key)) ?? "none" }));
app.post("/delete/:key", async (req) => {
  await cache.delete(req.params.key);
  return "deleted";
});
app.get("/values", async () => {
  await cache.set("text", "größe\0");
  await cache.set("bytes", new Uint8Array([255, 0]));
  await cache.set("number", 1.5);
  await cache.set("flag", false);
  await cache.set("map", { a: [1, "x"] });
  await cache.set("whole\0", 7);
  await cache.set("gone", 1);
  await cache.delete("gone");
  await cache.delete("never there");
  const bytes = await cache.get("bytes");
  return {
    text: (await cache.get("text")) === "größe\0",
    bytes: bytes instanceof Uint8Array && bytes.join() === "255,0",
    number: await cache.get("number"),
    flag: await cache.get("flag"),
    map: await cache.get("map"),
    whole: await cache.get("whole\0"),
    gone: (await cache.get("gone")) == null,
    missing: (await cache.get("missing")) == null,
  };
});
app.get("/ttl", async () => {
  await cache.set("short", 1, { ttl: 0.02 });
  await cache.set("long", 1, { ttl: 3600 });
  await cache.set("again", 1, { ttl: 0.02 });
  await cache.set("again", 2);
  await cache.incr("window", 5, { ttl: 0.02 });
  await time.sleep(0.05);
  return {
    short: (await cache.get("short")) == null,
    long: await cache.get("long"),
    again: await cache.get("again"),
    window: await cache.incr("window"),
  };
});
app.post("/hit", async () => {
  await cache.incr("hits");
  return "counted";
});
app.get("/sums", async () => {
  await cache.set("words", "1");
  await cache.set("half", 1.5);
  return [
    await cache.incr("new"), await cache.incr("new", 5), await cache.incr("new", -8), await told(cache.incr, "words"),
    await told(cache.incr, "half"), await cache.get("words"), await cache.get("half"),
  ];
});
app.get("/once", () => cache.once("once", { ttl: 600 }, async () => {
  await db.exec("INSERT INTO calls (n) VALUES (1)");
  await time.sleep(0.05);
  return { made: [1, 2] };
}));
app.get("/calls", async () => ({ n: (await db.one("SELECT count(*) AS n FROM calls")).n }));
app.get("/nothing", async () => {
  let n = 0;
  const fn = () => { n++; };
  const [first, second] = [await cache.once("nothing", fn), await cache.once("nothing", fn)];
  return { n, first: first === null, second: second === null };
});
// A change makes what was begun before it out of date.
app.get("/outdated", async () => [
  await cache.once("changed", async () => {
    await cache.delete("changed");
    return "old";
  }),
  await cache.once("changed", () => "new"),
]);
app.get("/fails", async () => {
  let failed = false;
  await cache.once("fails", () => { throw new Error("no luck"); }).catch(() => { failed = true; });
  return [failed, await cache.once("fails", () => "made")];
});
app.post("/batch/:end", async (req) => {
  const { end } = req.params;
  try {
    await db.batch(() => {
      db.exec(ADD, [`batch ${end}`]);
      cache.set("batch", end);
      if (end === "fails") throw new Error("rolled back");
    });
  } catch {
    // It is.
  }
  return [(await cache.get("batch")) ?? "none"];
});
app.post("/transaction/:end", async (req) => {
  const { end } = req.params;
  let seen, once;
  try {
    await db.transaction(async (tx) => {
      await tx.exec(ADD, [`transaction ${end}`]);
      await cache.set("transaction", end);
      once = await cache.once("in transaction", () => end);
      seen = await cache.get("transaction");
      if (end === "fails") throw new Error("rolled back");
    });
  } catch {
    // It is.
  }
  return [seen, once, (await cache.get("transaction")) ?? "none", (await cache.get("in transaction")) ?? "none"];
});
app.get("/full", async () => {
  for (let n = 1; n <= 10; n++) await cache.set(`v${n}`, "x".repeat(3000));
  const large = await told(cache.set, "large", "x".repeat(2000000));
  return [(await cache.get("v1")) == null, (await cache.get("v10")).length, large !== "taken"];
});
