import { app, log } from "sampan";

app.get("/", () => {
  const loop = { name: "loop" };
  loop.self = loop;
  log.info("cycle", { loop });
  log.info("function", { f() {} });
  log.info("huge", { text: "x".repeat(300000) });
  let deep = {};
  for (let i = 0; i < 5000; i++) deep = { deep };
  log.info("deep", { deep });
  log.info("hostile", { get trap() { throw new Error("never"); }, proxy: new Proxy({}, { ownKeys() { throw new Error("never"); } }) });
  log.info("throws", { text: { toJSON() { throw new Error("never"); } } });
  log.info("numbers", { big: 2n ** 70n, nan: NaN, s: Symbol("s") });
  log.info();
  log.info(undefined, null, "more");
  console.log(new Proxy(function f() {}, { get() { throw new Error("never"); } }), loop);
  return "logged";
});
app.get("/sparse", () => {
  const seats = ["first"];
  seats[4294967290] = 1;
  log.info("seats", { seats });
  log.info("length", { rows: new Array(4294967295), mixed: [undefined, , 2] });
  return "logged";
});
app.get("/error", () => {
  log.error("failed", new Error("outer", { cause: new TypeError("inner") }));
  log.warn(new AggregateError([new Error("first"), "second"], "both"));
  return "logged";
});
