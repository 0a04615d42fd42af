import { app, json, text } from "sampan";

app.use(async (req, next) => {
  const res = await next();
  res.headers.set("X-Script", "ran");
  return res;
});
app.use("/api/*", app.cors({
  origins: ["https://app.example", "http://localhost:3000"],
  methods: ["get", "post"],
  headers: ["content-type", "authorization"],
  expose: "x-total",
  credentials: true,
  maxAge: 600,
}));
app.get("/api/items", () => json([1], { headers: { "x-total": "1" } }));
app.post("/api/items", () => "made");
app.get("/api/own", () => text("own", { headers: { "Access-Control-Allow-Origin": "https://other.example", Vary: "Accept" } }));
app.get("/api/fails", () => { throw new Error("no luck"); });
app.get("/open", () => "open");
