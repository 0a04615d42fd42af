import { app, json } from "sampan";

const fault = (options) => {
  try {
    app.allowIps(options);
    return "taken";
  } catch (error) {
    return error.message;
  }
};
const faults = [
  fault({}),
  fault({ networks: [] }),
  fault({ networks: ["10.0.0.0/33"] }),
  fault({ networks: ["127.0.0.1", "office"] }),
  fault({ networks: 10 }),
  fault({ network: "10.0.0.0/8" }),
];
app.use("/office/*", app.allowIps({ networks: ["10.0.0.0/8", "2001:db8::/32", "192.0.2.7"] }));
app.use("/one/*", app.allowIps({ networks: "192.0.2.9" }));
app.use("/mapped/*", app.allowIps({ networks: "::ffff:192.168.0.0/112" }));
app.use("/here/*", app.allowIps({ networks: "127.0.0.1" }));
app.onError((_, error) => json({ message: error.message }, error.status));
app.get("/office/in", (req) => req.ip);
app.get("/office/fixed", { fixed: true });
app.get("/one/in", (req) => req.ip);
app.get("/mapped/in", (req) => req.ip);
app.get("/here/in", (req) => req.ip);
app.get("/faults", () => faults);
