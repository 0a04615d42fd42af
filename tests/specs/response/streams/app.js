import { app, stream, time } from "sampan";

app.get("/count", () => stream(async (write) => {
  for (let i = 1; i <= 5; i++) await write(`line ${i}\n`);
}, { headers: { "Content-Type": "text/plain" } }));
app.get("/slow", () => stream(async (write) => {
  for (let i = 1; i <= 3; i++) {
    await write(`${i};`);
    await time.sleep(0.02);
  }
}, 201));
app.get("/large", () => stream(async (write) => {
  const piece = "x".repeat(10000);
  for (let i = 0; i < 200; i++) await write(piece);
}));
app.get("/broken", () => stream(async (write) => {
  await write("half");
  await time.sleep(0.01);
  throw new Error("stream broke");
}));
app.get("/empty", () => stream(() => {}));
