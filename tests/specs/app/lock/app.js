import { app, cache, db, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS counts (n INTEGER)");
db.exec("INSERT INTO counts (n) VALUES (0)");

async function waitFor(key) {
  while (cache.get(key) == null) await time.sleep(0.002);
}

// Without the lock some would read the number that another is about to write.
app.post("/count", async () => ({
  n: await app.lock("count", async () => {
    const { n } = db.one("SELECT n FROM counts");
    await time.sleep(0.001);
    db.exec("UPDATE counts SET n = ?", [n + 1]);
    return n;
  }) >= 0,
}));
app.get("/count", () => db.one("SELECT n FROM counts"));

app.get("/hold", () => app.lock("held", { timeout: 60 }, async () => {
  cache.set("held", true);
  await waitFor("may end");
  return "held";
}));
app.get("/busy", async () => {
  await waitFor("held");
  let fault;
  try {
    await app.lock("held", { timeout: 0 }, () => "not called");
  } catch (error) {
    fault = error;
  }
  const other = await app.lock("another", () => "another is free");
  cache.set("may end", true);
  return [fault === undefined, fault.code, fault.status, other, await app.lock("held", () => "mine now")];
});
app.get("/unhandled", () => app.lock("a", () => app.lock("a", { timeout: 0.01 }, () => {})));
app.get("/throws", async () => {
  let code;
  try {
    await app.lock("t", () => { throw Object.assign(new Error("x"), { code: "own" }); });
  } catch (error) {
    code = error.code;
  }
  return [code === undefined, code, await app.lock("t", { timeout: 0 }, () => "free")];
});
app.get("/results", async () => [true, await app.lock("r", () => [2])]);
app.get("/nothing", async () => ({ nothing: (await app.lock("n", () => {})) === undefined }));
app.get("/name", () => app.lock("", () => {}));
app.get("/timeout", () => app.lock("a", { timeout: -1 }, () => {}));
app.get("/option", () => app.lock("a", { wait: 1 }, () => {}));
app.get("/no-function", () => app.lock("a", { timeout: 1 }));
