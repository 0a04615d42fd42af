import { app } from "sampan";

const seen = new Set();

app.use("/in/*", app.secureHeaders({ csp: "script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'" }));
app.use("/in/inner/*", app.secureHeaders({ csp: "script-src 'nonce-{nonce}'" }));
app.use("/plain/*", app.secureHeaders({ csp: "script-src 'self'" }));
const page = (req) => req.render("page.html", { given: req.cspNonce });
app.get("/in/page", page);
app.get("/in/inner/page", page);
app.get("/plain/page", page);
app.get("/in/fixed", { fixed: true });
app.get("/in/fresh", (req) => {
  const nonce = req.cspNonce;
  const fresh = !seen.has(nonce);
  seen.add(nonce);
  return { fresh, same: nonce === req.cspNonce, plain: /^[\w-]{22}$/.test(nonce) };
});
app.get("/in/fails", () => { throw new Error("on purpose"); });
