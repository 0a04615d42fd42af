import { app } from "sampan";

app.use("/api/*", app.rateLimit({ limit: 3, per: 3600 }));
app.use("/api/costly", app.rateLimit({ limit: 1, per: 3600, name: "costly" }));
app.use("/login", app.rateLimit({ limit: 3, per: 3600 }));
app.use("/by/key", app.rateLimit({ limit: 1, per: 3600, key: "x-api-key" }));
app.get("/api/things", () => "things");
app.get("/api/costly", { costly: true });
app.get("/login", () => "login");
app.get("/by/key", () => "keyed");
app.get("/soon", () => "soon");
app.use("/soon", app.rateLimit({ limit: 1, per: 1 }));

function fault(options) {
  try {
    app.rateLimit(options);
    return "taken";
  } catch (error) {
    return error.message;
  }
}
app.get("/faults", () => [
  fault({ limit: 1 }), fault({ limit: 0, per: 1 }), fault({ limit: 1, per: 86401 }), fault({ limit: 1.5, per: 1 }),
  fault({ limit: 1, per: 1, key: "a b" }), fault({ limit: 1, per: 1, key: 7 }), fault({ limit: 1, per: 1, name: 'a"b' }),
]);
