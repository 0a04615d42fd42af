import { app } from "sampan";

// What each call says that is refused.
const refused = (options) => {
  try {
    app.idempotency(options);
    return "accepted";
  } catch (error) {
    return error.message;
  }
};
const user = () => 1;
const texts = [
  refused({}),
  refused({ user: "ann" }),
  refused({ user, hours: 0 }),
  refused({ user, hours: 8761 }),
  refused({ user, hours: NaN }),
  refused({ user, required: "yes" }),
  refused({ user, days: 1 }),
  refused({ user, hours: 8760 }),
];
app.get("/", () => texts);
app.use("/wrong", app.idempotency({ user: () => [1] }));
app.post("/wrong", () => "never");
// Which paths it wraps of a route with a parameter is known with each request.
app.use("/stream/a", app.idempotency({ user }));
app.post("/stream/:name", { stream: true }, () => "read");
// A route that only reads has no key.
app.use("/events", app.idempotency({ user }));
app.get("/events", { stream: true }, () => "events");
