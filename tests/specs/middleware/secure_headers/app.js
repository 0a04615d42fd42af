import { app, html, text } from "sampan";

app.use(app.secureHeaders());
app.use("/strict/*", app.secureHeaders({
  csp: "default-src 'self'", frameAncestors: "self", referrerPolicy: "no-referrer", hsts: 60,
}));
app.get("/", () => html("<p>hi</p>"));
app.get("/fixed", { fixed: true });
app.get("/strict/page", () => "page");
app.get("/own", () => text("own", { headers: { "X-Frame-Options": "SAMEORIGIN" } }));
app.get("/refused", () => [
  { csp: "default-src 'self'\r\nSet-Cookie: a=b" },
  { frameAncestors: "https://a.example; script-src *" },
  ["csp"],
].map((options) => {
  try {
    app.secureHeaders(options);
  } catch (error) {
    return error.message;
  }
}));
