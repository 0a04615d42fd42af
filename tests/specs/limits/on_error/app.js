import { app } from "sampan";

let called = 0;
app.onError(() => {
  called += 1;
  for (;;);
});
app.get("/loop", () => { for (;;); });
app.get("/fail", () => { throw new Error("first"); });
app.get("/called", () => ({ called }));
