import { app, time } from "sampan";

app.get("/value", () => app.trace("plain", () => ({ n: 1 })));
app.get("/waits", () => app.trace("waits", { size: 2.5, kind: "a", is_new: true }, async () => {
  await time.sleep(0.001);
  return app.trace("inner", () => "after waiting");
}));
app.get("/throws", async () => {
  try {
    await app.trace("fails", () => { throw "own"; });
  } catch (fault) {
    return [false, fault];
  }
});
app.get("/unhandled", () => app.trace("fails", async () => { throw new Error("not caught"); }));
app.get("/wrong", async () => {
  const faults = [];
  const fault = (...args) => app.trace(...args).catch((error) => faults.push(error.message));
  const many = {};
  for (let n = 1; n <= 33; n++) many[`a${n}`] = n;
  await fault("", () => {});
  await fault("x".repeat(201), () => {});
  await fault("a", { list: [] }, () => {});
  await fault("a", many, () => {});
  return faults;
});
