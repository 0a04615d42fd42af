import { app } from "sampan";
import modern, { chosen } from "modern";
import { deep } from "modern/parts/deep";
import { near } from "nested-user";
import { own } from "the-app/own";
import settings from "#settings";
import { helper } from "#lib/helper";
import classic, { add, mode, again } from "classic";
import made, { named } from "made-from-esm";
import * as cycle from "cycle/a.js";
import plain from "plain-main";
import { detected } from "detected";

app.get("/esm", () => ({ chosen, default: modern, deep, near, own, settings: settings.title, helper }));

app.get("/commonjs", () => ({
  sum: add(1, 2),
  same: classic.add === add,
  mode,
  again: again(),
  default: made,
  named,
  cycle: [cycle.a, cycle.default.fromB, cycle.whole],
  plain: plain("x"),
  detected,
}));

app.get("/process", () => ({ keys: Object.keys(process), env: process.env, listed: Object.keys(globalThis).includes("process") }));

for (const [path, name] of Object.entries({
  closed: "modern/lib/hidden.js",
  required: "requires-esm",
  out: "climbs",
  https: "https://example.com/x.js",
  none: "modern/nothing",
  hash: "#nothing",
  node: "crypto",
})) {
  app.get(`/${path}`, async () => {
    try {
      await import(name);
      return "imported";
    } catch (error) {
      return (error as Error).message;
    }
  });
}

app.get("/optional", async () => (await import("optional")).default);
app.get("/throws", async () => {
  const { fail } = await import("classic");
  fail();
});
