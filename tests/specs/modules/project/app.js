import { app } from "sampan";
import * as greet from "./lib/greet.js";
import * as again from "./lib/greet.js";

app.get("/", () => ({ text: greet.hello("Ann"), same: greet === again, inner: greet.inner }));
app.get("/outside", async () => {
  try {
    await import("../../routing/groups/app.js");
    return { ok: true };
  } catch {
    return { ok: false };
  }
});
