import { app, db, stream, time } from "sampan";

db.exec("CREATE TABLE left (what TEXT)");
let kept;

app.get("/never", () => new Promise(() => {}));
app.get("/endless", () => stream(async (write) => {
  for (;;) {
    await write("x".repeat(1000));
    await time.sleep(0.001);
  }
}));
app.get("/keep", (req) => {
  kept = req;
  return "kept";
});
app.get("/after/:secret", async () => {
  await time.sleep(0.01);
  try {
    return `read ${kept.params.secret ?? kept.path}`;
  } catch (error) {
    return error.message;
  }
});
app.get("/signal", () => [1, 2].map(() => {
  try {
    return typeof kept.signal;
  } catch (error) {
    return error.message;
  }
}));
app.get("/waits", async () => {
  setTimeout(() => db.exec("INSERT INTO left VALUES ('later')"), 20);
  await time.sleep(0.001);
  return "waits";
});
app.get("/left", () => db.query("SELECT what FROM left"));
