import { app, time } from "sampan";

app.get("/while", () => { for (;;); });
app.get("/for", () => {
  let x = 0;
  for (let i = 0; i < 1e15; i++) x += i;
  return x;
});
app.get("/pcall", () => {
  for (;;) {
    try {
      for (;;);
    } catch {
      // Not that easily.
    } finally {
      for (;;);
    }
  }
});
app.get("/promise", async () => {
  for (;;) await null;
});
app.get("/after/sleep", async () => {
  await time.sleep(0.01);
  for (;;);
});
app.get("/coroutine", () => {
  function* forever() { for (;;); }
  forever().next();
});
app.get("/error", () => { throw { get message() { for (;;); } }; });
app.get("/fine", () => "fine");
