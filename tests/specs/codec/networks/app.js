import { app, codec } from "sampan";

const OFFICE = ["10.0.0.0/8", "2001:db8::/32", "192.0.2.7"];

app.get("/in", (req) => [
  codec.ipIn("10.1.2.3", OFFICE), codec.ipIn("::ffff:10.1.2.3", OFFICE), codec.ipIn("2001:db8::1", OFFICE),
  codec.ipIn("192.0.2.7", OFFICE), codec.ipIn("unix:", ["unix:"]), codec.ipIn(req.ip, ["127.0.0.0/8", "::1"]),
]);
app.get("/out", () => [
  codec.ipIn("11.1.2.3", OFFICE), codec.ipIn("2001:db9::1", OFFICE), codec.ipIn("unix:", OFFICE), codec.ipIn("10.1.2.3", []),
]);
app.get("/bad", () => codec.ipIn("192.0.2.7", ["192.0.2.7", "10.0.0.0/33"]));
app.get("/number", () => codec.ipIn("192.0.2.7", [10]));
