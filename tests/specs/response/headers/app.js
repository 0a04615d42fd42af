import { app, redirect, text } from "sampan";

const withHeader = (name, value) => () => text("never", { headers: { [name]: value } });

app.get("/fine", withHeader("X-Fine", "tab\tand \u00c3\u00a9"));
app.get("/cr", withHeader("X-A", "a\rb"));
app.get("/lf", withHeader("X-A", "a\nInjected: yes"));
app.get("/crlf", withHeader("X-A", "a\r\n\r\n<script>"));
app.get("/nul", withHeader("X-A", "a\0b"));
app.get("/control", withHeader("X-A", "a\x1bb"));
app.get("/name", withHeader("X A", "b"));
app.get("/name/lf", withHeader("X-A\nB", "b"));
app.get("/name/empty", withHeader("", "b"));
app.get("/cookie", withHeader("Set-Cookie", "a=1\r\nSet-Cookie: b=2"));
app.get("/location", () => redirect("/a\r\nX-Evil: 1"));
app.get("/length", () => text("four", { headers: { "Content-Length": "2" } }));
app.get("/chunked", () =>
  text("four", { headers: { "Transfer-Encoding": "chunked", "Keep-Alive": "timeout=5", Upgrade: "x" } }));
