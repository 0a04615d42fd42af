import { app, env } from "sampan";

function fault(make, options) {
  try {
    make(options);
    return "taken";
  } catch (error) {
    return error.message;
  }
}
const verify = () => {};
app.get("/faults", () => [
  fault(app.basicAuth, {}), fault(app.basicAuth, { users: { ann: "x" }, verify }), fault(app.basicAuth, { users: { ann: "" } }),
  fault(app.basicAuth, { users: { ann: 1 } }), fault(app.basicAuth, { users: ["ann"] }), fault(app.basicAuth, { tokens: { a: "b" } }),
  fault(app.bearerAuth, { tokens: {} }), fault(app.basicAuth, { users: { ann: env.get("SAMPAN_SPEC_UNSET") } }),
  fault(app.bearerAuth, { verify, realm: "a\r\nb" }), fault(app.bearerAuth, { verify: "x" }),
  fault(app.bearerAuth, { tokens: { ci: "secret-1\n" } }), fault(app.bearerAuth, { tokens: { ci: "secret 1" } }),
  fault(app.basicAuth, { users: { ann: "pass: word\n" } }),
]);
app.get("/kept", () => { app.use(app.bearerAuth({ verify })); });
