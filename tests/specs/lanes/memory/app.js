// The memory of an isolate of the slow lane is its own.
import { app } from "sampan";

const kept = [];
let number = 0;
app.get("/fill", { slow: true }, () => {
  for (let at = 1; at < 1e9; at++) kept.push(String(at).padStart(8, "0").repeat(100));
});
app.get("/slow", { slow: true }, () => "slow");
app.get("/count", () => String(++number));
