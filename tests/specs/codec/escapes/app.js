import { app, codec } from "sampan";

app.get("/url", () => [
  codec.urlEncode("a b&c=ü/?%~-._"), codec.urlDecode("a%20b%26c%3d%C3%BC+%zz%4"), codec.urlDecode("%ff"),
]);
app.get("/html", () => [codec.htmlEscape(`<a href="x" title='y'>ü & z</a>`)]);
