import { app } from "sampan";

function tried(fn, ...args) {
  try {
    fn(...args);
    return "ok";
  } catch (error) {
    return String(error.message);
  }
}

const atLoad = [
  tried(app.subscribe, "", () => {}),
  tried(app.subscribe, "a", () => {}, { often: true }),
  tried(app.subscribe, "a", 7),
  tried(app.subscribe, "stars:*", () => {}),
];

app.get("/at-load", () => atLoad);
app.get("/in-handler", () => [
  tried(app.publish, "", "x"),
  tried(app.publish, "x".repeat(257), "x"),
  tried(app.publish, "a\nb", "x"),
  tried(app.publish, "a", () => {}),
  tried(app.publish, "a", "x".repeat(101)),
  tried(app.publish, "a", "x".repeat(100)),
  tried(app.subscribe, "a", () => {}),
  tried(app.presence, "stars:*:members"),
  tried(app.publish, "stars:*:messages", "x"),
  tried(app.publish, "é".repeat(60) + "y".repeat(9000), "x"),
]);

app.sse("/events", (req, events) => {
  events.send(tried((topic) => events.subscribe(topic), "stars:*"));
  events.send(tried((topic) => events.join(topic), "*"));
  events.close();
});
