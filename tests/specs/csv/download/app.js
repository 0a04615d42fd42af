import { app, csv, db, stream, text } from "sampan";

app.get("/visits.csv", (req) => {
  req.csvDownload("visits.csv");
  return csv.encode(db.query("SELECT 1 AS id, '/' AS path"));
});
app.get("/streamed", (req) => {
  req.csvDownload("Größe.csv");
  return stream(async (write) => { await write(csv.encode([["a"]])); });
});
app.get("/typed", (req) => {
  req.csvDownload("a.tsv");
  return text("a\tb\n", { headers: { "content-type": "text/tab-separated-values" } });
});
app.get("/fails", (req) => {
  req.csvDownload("a.csv");
  throw Object.assign(new Error("no visits"), { status: 404 });
});
app.get("/twice", (req) => {
  req.csvDownload("a.csv");
  req.csvDownload("b.csv");
});
app.get("/split", (req) => { req.csvDownload("a\r\nSet-Cookie: b=c"); });
app.get("/empty", (req) => { req.csvDownload(""); });
