import { app, time } from "sampan";

app.get("/plain", () => { throw new Error("plain secret"); });
app.get("/string", () => { throw "string secret"; });
app.get("/table", () => { throw { some: "value" }; });
app.get("/nil", () => {
  const t = undefined;
  return t.field;
});
app.get("/status", () => { throw { status: 404, message: "no such user" }; });
app.get("/status/500", () => { throw Object.assign(new Error("hidden secret"), { status: 502 }); });
app.get("/status/odd", () => { throw Object.assign(new Error("odd status"), { status: 200 }); });
app.get("/status/fraction", () => { throw Object.assign(new Error("fraction status"), { status: 404.5 }); });
app.get("/late", async () => {
  await time.sleep(0.005);
  throw new Error("late secret");
});
app.get("/nested", () => {
  function inner() { throw new Error("nested secret"); }
  function outer() { inner(); }
  outer();
});
