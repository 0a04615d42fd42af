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
]);
