import { app, stream, time } from "sampan";

let written = 0;
app.get("/endless", () => stream(async (write) => {
  for (;;) {
    await write("x");
    written += 1;
    await time.sleep(0.005);
  }
}));
app.get("/settled", async () => {
  const before = written;
  await time.sleep(0.1);
  return { wrote: before > 0, goes_on: written > before };
});
