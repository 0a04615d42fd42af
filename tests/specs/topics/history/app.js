import { app } from "sampan";

const tried = (fn, ...args) => {
  try {
    fn(...args);
    return "ok";
  } catch (error) {
    return String(error.message);
  }
};

app.topic("room:*", { history: 2 });
app.topic("news", { history: 1 });

const atLoad = [
  tried(app.topic, "a*b", { history: 1 }),
  tried(app.topic, "", { history: 1 }),
  tried(app.topic, "a", { history: 0 }),
  tried(app.topic, "a", {}),
  tried(app.topic, "a", { histories: 1 }),
  tried(app.presence, "a"),
];
app.get("/at-load", () => atLoad);
app.get("/too-late", () => [tried(app.topic, "a", { history: 1 }), tried(app.presence, "")]);

app.sse("/missed/:topic", (req, events) => {
  events.subscribe(req.params.topic);
  events.close();
});
