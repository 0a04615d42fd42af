import { app, sse, text, time } from "sampan";

app.sse("/events/:name", async (req, events) => {
  await events.send(`hello ${req.params.name}`);
  await events.send({ event: "more", data: { list: [], n: 1 }, id: "7", retry: 1500 });
  await events.send({ data: "two\nlines" });
  events.comment("not seen");
  await events.send({ id: 8 });
});

app.sse("/last", { name: "last" }, async (req, events) => {
  await events.send(events.lastId === null || events.lastId === undefined ? "nil" : events.lastId);
  await events.send(events.get("last_id") ?? "none");
  await events.send(events.keys().join(" "));
});

app.get("/by-name", () => app.urlFor("last"));

app.get("/answer", (req) => {
  if (req.query.refuse) return text("no", 403);
  return sse(async (events) => {
    await time.sleep(0.001);
    await events.send("later");
    events.close();
  }, { headers: { "X-Own": "yes", "cache-control": "public" } });
});

app.group("/api", (api) => {
  api.sse("/", (req, events) => events.send("in a group"));
});

app.sse("/compressed", { compress: true }, async (req, events) => {
  events.send("x".repeat(100));
  await time.sleep(0.001);
  await events.send("end");
});

app.sse("/silent", () => {});
