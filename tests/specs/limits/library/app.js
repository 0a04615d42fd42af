import { app } from "sampan";

app.get("/rep", () => "x".repeat(1e10).length);
app.get("/rep/method", () => "x".padStart(2 ** 31).length);
app.get("/rep/separator", () => new Array(1e9).join("x").length);
app.get("/pattern", () => /(a+)+b/.test("a".repeat(40000)));
app.get("/match", () => "a".repeat(40000).match(/(.*)*(.*)*b/) ?? "none");
app.get("/gsub", () => "a".repeat(40000).replace(/(a|aa)+b/g, ""));
app.get("/trim", () => ("a ".repeat(5e5) + "b").trim().length);
app.get("/set", () => "a".repeat(1e6).indexOf("b"));
app.get("/plain", () => "a".repeat(1e6).indexOf("ab"));
app.get("/insert", () => [].splice(-1e9, 0, 1).length);
app.get("/gmatch", () => [..."a".repeat(40000).matchAll(/(a*)*b/g)].length);
app.get("/concat", () => {
  let text = "0123456789".repeat(1e6);
  for (;;) text += text;
});
app.get("/format", () => (1 / 3).toFixed(100).length);
app.get("/fill", () => {
  const t = [];
  for (let i = 0; i < 1e12; i++) t[i] = i;
});
app.get("/sort", () => {
  const t = Array.from({ length: 200000 }, (_, i) => i % 7);
  t.sort(() => -1);
  return "sorted";
});
app.get("/unpack", () => Math.max(...new Array(1e8)));
app.get("/fine", () => "fine");
