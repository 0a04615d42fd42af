import { app, db, redirect, time } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS seen (messages INTEGER)");
app.post("/leave", (req) => {
  req.flash("notice", "saved");
  return redirect("/page", 303);
});
app.get("/page", async (req) => {
  await time.sleep(0.01);
  await db.exec("INSERT INTO seen VALUES (?)", [req.flashes().length]);
  return "page";
});
app.get("/seen", () => db.one("SELECT count(*) AS pages, sum(messages) AS messages FROM seen"));
