import { app } from "sampan";

// A function of JavaScript returns one value; these are what is right in Lua too.
const none = () => { throw new Error("a handler returns one value, and this one returned 404 behind it"); };
app.get("/status", none);
app.get("/count", () => "a+b");
app.use("/wrapped/*", (req, next) => next(req));
app.get("/wrapped/status", none);
app.get("/wrapped/count", () => "a+b");
