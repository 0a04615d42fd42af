import { app, stream, time } from "sampan";

const up = (req, path) => `http://${req.headers.get("host")}/up/${path}`;

app.get("/up/endless", () => stream(async (write) => {
  for (;;) {
    await write("x");
    await time.sleep(0.002);
  }
}));
app.get("/up/short", () => "short");

app.get("/waits", async (req) => {
  await fetch(up(req, "endless"));
  const error = await fetch(up(req, "short"), { sampan: { connect: "30ms" } }).catch((error) => error);
  return error.cause.code;
});
app.get("/fetches", async (req) => (await fetch(up(req, "short"))).text());

// What only JavaScript has: requests at once.
app.get("/turns", async (req) => {
  const first = await fetch(up(req, "endless"));
  const second = fetch(up(req, "short")).then((res) => res.text());
  const third = await fetch(up(req, "short")).catch((error) => error);
  await first.body.cancel();
  return [await second, third.cause.code];
});
