import { Buffer } from "node:buffer";
import { app, json } from "sampan";

const PlatformResponse = Object.getPrototypeOf(Response.prototype).constructor;

app.get("/is", (req) => ({
  request: req instanceof Request,
  ours: json({}) instanceof Response,
  platform: new PlatformResponse("x") instanceof Response,
}));
app.get("/platform", () => new PlatformResponse("from the platform", { status: 203, headers: { "x-a": "b" } }));
app.post("/clone", async (req) => {
  const twin = req.clone();
  return { twin: await twin.text(), own: await req.text() };
});
app.get("/buffer", () => Buffer.from("bytes"));
app.get("/read", async () => {
  const response = json({ a: 1 }, { status: 201, headers: { "x-b": "c" } });
  return { status: response.status, header: response.headers.get("x-b"), body: await response.clone().json(), own: await response.text() };
});
