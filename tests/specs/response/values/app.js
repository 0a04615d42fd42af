import { app } from "sampan";

app.get("/table", () => ({ a: 1 }));
app.get("/list", () => [1, 2, 3]);
app.get("/empty", () => ({}));
app.get("/array", () => []);
app.get("/text", () => "größe");
app.get("/blank", () => "");
app.get("/nothing", () => {});
app.get("/nil", () => null);
app.get("/true", () => true);
app.get("/false", () => false);
app.get("/whole", () => 7);
app.get("/fraction", () => 1.5);
app.get("/function", () => () => {});
app.get("/cycle", () => {
  const o = {};
  o.o = o;
  return o;
});
app.get("/deep", () => {
  let o = {};
  for (let i = 0; i < 1000; i++) o = [o];
  return o;
});
