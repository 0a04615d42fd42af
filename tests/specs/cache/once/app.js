import { app, cache, db, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS calls (name TEXT)");

const called = (name) => db.exec("INSERT INTO calls (name) VALUES (?)", [name]);
async function waitFor(key) {
  while (cache.get(key) == null) await time.sleep(0.002);
}

app.get("/calls/:name", (req) => db.one("SELECT count(*) AS n FROM calls WHERE name = ?", [req.params.name]));
app.get("/shared", () => cache.once("shared", { ttl: 600 }, async () => {
  called("shared");
  await time.sleep(0.05);
  return { made: [1, 2], left: undefined };
}));
app.get("/kept", async () => [
  await cache.once("kept", () => "first"),
  await cache.once("kept", () => "second"),
  cache.get("kept"),
]);
app.get("/nothing", async () => {
  let n = 0;
  const fn = () => { n++; };
  const [first, second] = [await cache.once("nothing", fn), await cache.once("nothing", fn)];
  return { n, first: first === null, second: second === null };
});
// The first waits until the second waits for it.
app.get("/fails", async () => {
  try {
    await cache.once("fails", async () => {
      cache.set("begun", true);
      await waitFor("waits");
      throw Object.assign(new Error("no luck"), { code: "own" });
    });
    return { ok: true };
  } catch (error) {
    return { ok: false, code: error.code };
  }
});
app.get("/waits", async () => {
  await waitFor("begun");
  cache.set("waits", true);
  return cache.once("fails", () => "not called");
});
app.get("/after", () => cache.once("fails", () => "the next one makes it"));
// A change makes what was begun before it out of date.
app.get("/outdated", async () => [
  await cache.once("changed", () => {
    cache.delete("changed");
    return "old";
  }),
  await cache.once("changed", () => "new"),
]);
app.get("/function", () => cache.once("f", () => () => {}));
app.get("/after-function", () => cache.once("f", () => "made"));
app.get("/no-function", () => cache.once("f", { ttl: 1 }));
app.get("/option", () => cache.once("o", { maxAge: 1 }, () => {}));
app.get("/behind", () => cache.once("b", () => {}, { ttl: 1 }));
