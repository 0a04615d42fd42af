import { app, db } from "sampan";

app.get("/", () => db.query("SELECT 1 AS id, 'a' AS name, 2 AS id"));
app.get("/field", async () => ({ id: (await db.one("SELECT 1 AS id, 2 AS id")).id }));
app.get("/added", async () => Object.assign(await db.one("SELECT 1 AS z, NULL AS y"), { a: 2, b: 1 }));
