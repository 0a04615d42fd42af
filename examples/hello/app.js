// The first steps with Sampan in JavaScript:  sampan run examples/hello/app.js
import { app, db, time } from "sampan";

app.get("/health", () => ({ status: "ok", runtime: app.runtime, version: app.version }));

app.get("/greet/:name", (req) => ({ greeting: `Hello, ${req.params.name}` }));

// curl -d '{"greeting":"Ahoy"}' localhost:8080/greet/Ann
app.post("/greet/:name", async (req) => {
  const wish = await req.json();
  if (typeof wish?.greeting !== "string") {
    throw Object.assign(new Error("greeting must be a string"), { status: 400 });
  }
  return { greeting: `${wish.greeting}, ${req.params.name}` };
});

app.post("/echo", async (req) => await req.json());

// Not a function: a response that is computed once, at start.
app.get("/version", { version: "1.0" });

// The table is made at start, by migrations/0001_visits.sql.
app.get("/", (req) => {
  db.exec("INSERT INTO visits (path, ts) VALUES (?, ?)", [req.path, time.now()]);
  return { message: "visit recorded" };
});

app.get("/visits", () => db.query("SELECT * FROM visits ORDER BY id DESC LIMIT 20"));
