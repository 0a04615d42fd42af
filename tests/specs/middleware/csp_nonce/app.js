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

// The policy as a client gets it. Middleware of a script does not see it: it is added after that.
const policy = async (req, path) => {
  const res = await fetch(`http://${req.headers.get("host")}${path}`);
  return [res.headers.get("content-security-policy"), await res.text()];
};
const expected = (nonce) => `script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; frame-ancestors 'none'`;
app.get("/in/nonce", (req) => req.cspNonce);
app.get("/sent", async (req) => {
  const [sent, nonce] = await policy(req, "/in/nonce");
  return { same: sent === expected(nonce) };
});
app.get("/sent/fixed", async (req) => {
  const [[first], [second]] = [await policy(req, "/in/fixed"), await policy(req, "/in/fixed")];
  const [one, other] = [first, second].map((sent) => /'nonce-([\w-]+)'/.exec(sent)[1]);
  return { first: first === expected(one), second: second === expected(other), other: one !== other };
});
