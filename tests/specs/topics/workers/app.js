import { app, db } from "sampan";

app.onStart(() => {
  db.exec("CREATE TABLE IF NOT EXISTS seen (who TEXT, message TEXT)");
});

app.subscribe("work", (message) => {
  db.exec("INSERT INTO seen VALUES ('each', ?)", [message]);
});

app.subscribe("work", (message) => {
  db.exec("INSERT INTO seen VALUES ('once', ?)", [message]);
}, { once: true });

app.post("/publish/:message", (req) => app.publish("work", req.params.message));
app.get("/seen", () =>
  db.query("SELECT who, message, count(*) AS n FROM seen GROUP BY who, message ORDER BY message, who"));
