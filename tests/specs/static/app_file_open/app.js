import { app, db, files } from "sampan";

app.get("/any/*path", (req) => app.file(req.params.path));
app.get("/kept/*path", (req) => app.file(req.params.path, { folder: "kept" }));
app.get("/storage/*path", (req) => app.file(req.params.path, { folder: "storage" }));
app.get("/save", async () => {
  await files.write("report.txt", "stored");
  db.exec("CREATE TABLE IF NOT EXISTS t (x)");
});
