import { app, time } from "sampan";

app.get("/", () => {
  const seconds = time.now();
  const millis = app.time.nowMs();
  return {
    near: Math.abs(seconds * 1000 - millis) < 1000,
    whole: Number.isInteger(millis),
    recent: seconds > 1.7e9,
  };
});
