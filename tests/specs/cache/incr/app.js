import { app, cache, db, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS t (name TEXT UNIQUE)");

const ADD = "INSERT INTO t (name) VALUES (?)";
function told(fn, ...args) {
  try {
    fn(...args);
    return "taken";
  } catch (error) {
    return error.message;
  }
}

app.get("/sums", () => {
  cache.set("set", 40);
  return [cache.incr("new"), cache.incr("new", 5), cache.incr("new", -8), cache.incr("set", 2), cache.get("set")];
});
app.get("/ttl", async () => {
  const first = cache.incr("window", 1, { ttl: 0.02 });
  cache.incr("forever");
  cache.incr("forever", 1, { ttl: 0.02 });
  await time.sleep(0.05);
  return [first, cache.incr("window", 1, { ttl: 60 }), cache.incr("window"), cache.incr("forever")];
});
app.post("/hit", () => {
  cache.incr("hits");
  return "counted";
});
app.post("/hit/written", () => {
  db.exec("INSERT INTO t (name) VALUES (NULL)");
  cache.incr("hits");
  return "counted";
});
app.get("/get/:key", (req) => ({ value: cache.get(req.params.key) ?? "none" }));
app.post("/write", () => {
  db.exec(ADD, ["a"]);
  return [cache.incr("write"), cache.incr("write", 4), cache.get("write")];
});
app.post("/batch", () => {
  cache.incr("batch");
  try {
    db.batch(() => {
      db.exec(ADD, ["b"]);
      cache.incr("batch", 10);
      throw new Error("rolled back");
    });
  } catch {
    // It is.
  }
  return [cache.get("batch"), cache.incr("batch")];
});
app.get("/faults", () => {
  cache.set("text", "1");
  cache.set("half", 1.5);
  return [
    told(cache.incr, "text"), told(cache.incr, "half"), told(cache.incr, ""), told(cache.incr, "k", 1, { ttl: 0 }),
    told(cache.incr, "k", 1, { size: 1 }), cache.get("text"), cache.get("half"),
  ];
});
app.get("/fraction", () => [cache.incr("k", 1.5)]);
