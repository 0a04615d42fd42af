import { app } from "sampan";

app.get("/timer", () => {
  setTimeout(() => { throw new Error("nobody catches this"); }, 5);
  return "timer";
});
app.get("/promise", () => {
  Promise.reject(new Error("nobody awaits this"));
  return "promise";
});
app.get("/symbol", () => Symbol("x"));
app.get("/fine", () => "fine");
