import { app, text, time } from "sampan";

app.onError(async (req, err) => {
  if (req.path === "/twice") throw new Error("second failure");
  if (req.path === "/wait") await time.sleep(0.005);
  if (req.path === "/own") return text("own: " + err.message, 418);
  return { failed: req.path, message: err.message, status: err.status };
});
app.get("/plain", () => { throw new Error("first failure"); });
app.get("/twice", () => { throw new Error("before second"); });
app.get("/wait", () => { throw new Error("waited failure"); });
app.get("/own", () => { throw new Error("my words"); });
app.get("/status", () => { throw Object.assign(new Error("taken"), { status: 409 }); });
app.post("/json", async (req) => await req.json());
