import { app, sse } from "sampan";

const tried = (fn) => {
  try {
    fn();
    return "ok";
  } catch (error) {
    return error.message;
  }
};
const failed = async (promise) => {
  try {
    await promise;
    return "ok";
  } catch (error) {
    return error.message;
  }
};

const atLoad = [
  tried(() => app.sse("/a", 7)),
  tried(() => app.sse("/a")),
  tried(() => app.sse("/a", { name: "x" })),
  tried(() => sse(() => {}, { compres: true })),
  tried(() => sse(() => {}, { compress: 1 })),
];
app.get("/at-load", () => atLoad);

app.sse("/each", async (req, events) => {
  const faults = [
    await failed(events.send({ event: "a\nb" })),
    await failed(events.send({ id: "a\0b" })),
    await failed(events.send({ retry: -1 })),
    await failed(events.send({ colour: "red" })),
    await failed(events.send([1, 2])),
    await failed(events.send(new Uint8Array([255]))),
    tried(() => events.set("lastId", "x")),
    tried(() => { events.colour = "red"; }),
    tried(() => events.subscribe("")),
    tried(() => events.subscribe("a", { often: true })),
    tried(() => events.subscribe("a", { event: "a\nb" })),
  ];
  for (const fault of faults) await events.send(fault);
});

app.sse("/throws", async (req, events) => {
  await events.send("some");
  throw new Error("no more of it");
});

app.sse("/closed", async (req, events) => {
  await events.send("before");
  events.close();
  await failed(events.send("late"));
  await events.send("and later");
});
