import { app, render } from "sampan";

const attacks = [
  "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onmouseover='alert(1)", "</title><script>x</script>",
  "javascript:alert(1)", "<svg/onload=alert(1)>", "&lt;script&gt;", "</script><script>alert(1)</script>", "{{ 7*7 }}{% raw %}",
  "<!-- -->", "\\u003cscript\\u003e", "a\0b", "<ä>", "<b",
];
app.get("/html", () => render("page.html", { attacks }));
app.get("/svg", () => render("badge.svg", { text: '"><script>alert(1)</script>' }));
app.get("/link", () => render("link.html", { url: "javascript:alert(1)" }));
app.get("/bytes", () => render("page.html", { attacks: ["\ud800<\udc00"] }));
app.get("/joined", () => render("joined.html", { text: "<i>" }));
