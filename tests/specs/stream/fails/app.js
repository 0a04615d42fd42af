import { app, stream } from "sampan";

app.get("/at-once", () => stream(() => { throw Object.assign(new Error("no such thing"), { status: 404 }); }));
app.get("/later", () => stream(async (write) => {
  await write("some");
  throw Object.assign(new Error("no more of it"), { status: 410 });
}));
