import { app, codec } from "sampan";

function told(fn, ...args) {
  try {
    fn(...args);
    return "taken";
  } catch (error) {
    return error.message;
  }
}

app.get("/parse", () => [
  codec.urlParse("https://us%40er:p%2Fw@EXAMPLE.org:8443/a%20b/../c?x=1#top"), codec.urlParse("http://[2001:DB8::1]"),
  codec.urlParse("/path") === null, codec.urlParse("http://a b/") === null,
]);
app.get("/build", () => [
  codec.urlBuild({ scheme: "https", host: "example.org" }),
  codec.urlBuild({
    scheme: "https", username: "us@er", password: "p/w", host: "2001:db8::1", port: 8443, path: "/a b?", query: "x=1#",
    fragment: "top",
  }),
  codec.urlBuild(codec.urlParse("postgres://ann:a%25@db:5433/app?ssl=1")),
]);
app.get("/query", () => {
  const values = codec.queryParse("?tag=x&tag=y&q=a+b%26&first_name=Ann&empty=");
  return [
    values.tag[0], values.tag[1], values.q, values.first_name, values.empty, values.none == null,
    codec.queryBuild(values), codec.queryBuild({ b: [1, true], a: 1.5, none: [] }),
  ];
});
app.get("/faults", () => [
  told(codec.urlBuild, { host: "example.org" }), told(codec.urlBuild, { scheme: "https", host: "evil.org/" }),
  told(codec.urlBuild, { scheme: "https://", host: "example.org" }),
  told(codec.urlBuild, { scheme: "https", host: "example.org", port: 65536 }),
  told(codec.urlBuild, { scheme: "https", host: "example.org", path: 1 }),
  told(codec.urlBuild, { scheme: "https", host: "example.org", hash: "x" }),
  told(codec.queryBuild, { x: { y: 1 } }), told(codec.queryParse, "x".repeat(65537)),
]);
