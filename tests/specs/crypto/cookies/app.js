import { app, stream } from "sampan";

app.get("/set", (req) => {
  req.setCookie("theme", "dark");
  req.setCookie("lang", "en", { maxAge: 3600, path: "/shop", httpOnly: false, sameSite: "strict" });
  req.setCookie("__Host-id", "7");
  req.deleteCookie("old", { path: "/shop", domain: "example.com" });
  req.deleteCookie("embedded", { partitioned: true, secure: true, sameSite: "none" });
  return "set";
});
app.get("/json", (req) => { req.setCookie("a", "1"); return { set: true }; });
app.get("/fails", (req) => {
  req.setCookie("a", "1");
  throw Object.assign(new Error("none"), { status: 404 });
});
app.get("/stream", (req) => {
  req.setCookie("a", "1");
  return stream(async (write) => { await write("x"); });
});
app.get("/signed", (req) => {
  req.setCookie("user", "ann.7", { signed: true });
  return req.signedCookie("user") ?? "none";
});
app.get("/other", (req) => req.signedCookie("admin") ?? "none");
app.get("/encrypted", (req) => req.encryptedCookie("card") ?? "none");
app.get("/seal", (req) => {
  req.setCookie("card", "größe; 7", { encrypted: true, maxAge: 60 });
  return "sealed";
});
app.get("/space", (req) => { req.setCookie("a", "x y"); return "set"; });
app.get("/name", (req) => { req.setCookie("a;b", "1"); return "set"; });
app.get("/split", (req) => { req.setCookie("a", "1\r\nx-evil: 1"); return "set"; });
app.get("/host", (req) => { req.setCookie("__Host-a", "1", { path: "/shop" }); return "set"; });
app.get("/none", (req) => { req.setCookie("a", "1", { sameSite: "none", secure: false }); return "set"; });
app.get("/large", (req) => { req.setCookie("a", "x".repeat(4096)); return "set"; });
app.get("/both", (req) => { req.setCookie("a", "1", { signed: true, encrypted: true }); return "set"; });
app.get("/option", (req) => { req.setCookie("a", "1", { expires: 1 }); return "set"; });
app.get("/wrong", (req) => { req.setCookie("a", "1", { maxAge: -1 }); return "set"; });
