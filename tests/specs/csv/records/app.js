import { app, csv, db, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS imported (id INTEGER PRIMARY KEY, name TEXT)");

const large = { stream: true, bodyBytesMax: "2 MB" };
let kept;

const count = async (req) => ({ count: await req.csvRecords(() => {}) });
app.post("/count", large, count);
app.post("/small", { stream: true, bodyBytesMax: 100 }, count);
app.post("/here", count);
app.get("/none", count);
app.post("/echo", large, async (req) => {
  const all = [];
  await req.csvRecords((record) => { all.push(record); });
  return all;
});
app.post("/lists", large, async (req) => {
  const all = [];
  await req.csvRecords((record) => { all.push(record); }, { header: false, separator: ";" });
  return all;
});
app.post("/import", large, async (req) => {
  const count = await db.transaction((tx) => req.csvRecords((record) => {
    tx.exec("INSERT INTO imported VALUES (?, ?)", [Number(record.id), record.name]);
  }));
  return { count, rows: db.one("SELECT count(*) AS n FROM imported").n };
});
app.post("/plain", large, async (req) => {
  await req.csvRecords((record) => { db.exec("INSERT INTO imported VALUES (?, ?)", [Number(record.id), record.name]); });
  return db.one("SELECT count(*) AS n FROM imported").n;
});
app.get("/clear", () => db.exec("DELETE FROM imported"));
app.post("/convert", large, async (req) => {
  const out = csv.writer({ separator: ";" });
  await req.csvRecords((record) => { out.add(record); });
  return out.take();
});
app.post("/stops", large, async (req) => ({ count: await req.csvRecords((record) => record.n !== "2") }));
app.post("/twice", large, async (req) => {
  await req.csvRecords(() => {});
  await req.csvRecords(() => {});
});
app.post("/text_first", large, async (req) => {
  await req.text();
  await req.csvRecords(() => {});
});
app.post("/throws", large, async (req) => {
  await req.csvRecords((record) => { if (record.n === "2") throw new Error("boom"); });
});
app.post("/waits", large, async (req) => {
  await req.csvRecords(async () => { await time.sleep(0.001); });
});
app.post("/loops", large, async (req) => {
  await req.csvRecords(() => { for (;;); });
});
app.post("/slow", large, async (req) => {
  await req.csvRecords(() => { let x = 0; for (let i = 0; i < 150000; i++) x += i % 7; });
  return "slow";
});
app.get("/quick", () => "quick");
app.post("/in_batch", large, async (req) => {
  db.batch(() => req.csvRecords(() => {}));
});
app.post("/keep", (req) => {
  kept = req;
  return "kept";
});
app.get("/after", async () => {
  try {
    await kept.csvRecords(() => {});
  } catch (error) {
    return error.message;
  }
});
app.get("/state", () => ({ left: kept?.left ?? 0 }));
app.post("/leaves", large, async (req) => {
  const seen = kept = { left: 0, rows: 0 };
  try {
    await req.csvRecords(() => { seen.rows++; });
    seen.left = "ended";
  } catch (error) {
    seen.left = error.code ?? error.message;
  }
});
