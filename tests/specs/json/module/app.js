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
app.get("/pretty", () => {
  const value = { a: [1, { b: '[x, {y: "z"}]' }], none: [], nothing: null };
  const pretty = json.encode(value, { pretty: true });
  return text(pretty === JSON.stringify(value, null, 2) ? pretty : "different");
});
app.get("/plain", () => [
  json.encode([1], { pretty: false }), json.encode({}, { pretty: true }), json.encode("x", {}),
]);
app.get("/pretty/wrong", () => json.encode({}, { pretty: 2 }));
app.get("/option", () => json.encode({}, { indent: 2 }));
