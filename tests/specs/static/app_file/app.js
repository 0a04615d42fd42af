import { app, files, text } from "sampan";

app.get("/report", () => app.file("report.txt", { folder: "files" }));
app.get("/large", () => app.file("large.bin", { folder: "files" }));
app.get("/download", () => app.file("report.txt", { folder: "files", download: "Größe.txt", type: "text/x-report" }));
app.get("/own_name", () =>
  app.file("report.txt", { folder: "files", download: true }, { headers: { "cache-control": "max-age=60" } }));
app.get("/below/*path", (req) => app.file(req.params.path, { folder: "files" }));
app.get("/page", () => app.file("report.txt", { folder: "files" }, 404));
app.get("/tagged", async () => {
  const res = app.file("report.txt", { folder: "files" });
  res.headers.set("etag", '"mine"');
  return res;
});
app.post("/report", () => app.file("report.txt", { folder: "files" }));
app.get("/weak", () => app.file("report.txt", { folder: "files" }, { headers: { etag: 'W/"mine"' } }));
app.get("/dated", (req) => {
  const date = req.query.as ?? "Sun, 06 Nov 1994 08:49:37 GMT";
  return app.file("report.txt", { folder: "files" }, { headers: { "last-modified": date } });
});
app.get("/fresh", async (req) => {
  if (req.query.text) await files.write("fresh.txt", req.query.text);
  else await files.remove("fresh.txt");
  return app.file("fresh.txt", { folder: "storage" });
});
app.get("/up", () => app.file("../app.lua"));
app.get("/folder_up", () => app.file("app.lua", { folder: ".." }));
app.get("/changed", () => {
  const res = app.file("report.txt", { folder: "files" });
  try {
    return new Response(res.body, res);
  } catch (error) {
    return error.message.includes("a file that the server sends") ? "other" : error.message;
  }
});
app.get("/option", () => app.file("report.txt", { folder: "files", name: "x" }));
app.get("/wrong", () => app.file("report.txt", { folder: "files", download: 1 }));
app.get("/name", () => app.file("report.txt", { folder: "files", download: "a\r\nb" }));
app.onError((_, error) => text(error.message, error.status));
