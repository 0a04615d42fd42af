import { app, db } from "sampan";

app.get("/empty", () => {
  const long = [];
  long.length = 4294967295;
  return db.query("SELECT 1", long);
});
app.get("/proxy", () => db.query("SELECT 1", new Proxy([], { get: (_, name) => (name === "length" ? 4294967295 : undefined) })));
app.get("/fine", () => db.query("SELECT ? AS one", [1]));
