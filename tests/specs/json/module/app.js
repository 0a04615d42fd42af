import { app, json, text } from "sampan";

app.post("/round", async (req) => text(json.encode(json.decode(await req.text()))));
app.get("/encode", () => ({ object: json.encode({ a: [1, 2] }), text: json.encode("x\n"), number: json.encode(1.5) }));
app.get("/decode", () => ({ value: app.json.decode('{"a":[1,{"b":"c"}]}').a[1].b }));
app.get("/fault", () => {
  try {
    json.decode("[1,");
    return { ok: true };
  } catch (error) {
    return { ok: false, message: error.message };
  }
});
app.get("/cycle", () => {
  const o = {};
  o.o = o;
  try {
    json.encode(o);
    return { ok: true };
  } catch {
    return { ok: false };
  }
});
