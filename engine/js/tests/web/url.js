// URL and URLSearchParams.
test("parses a table of URLs", () => {
  const table = [
    // input, base, href
    ["http://example.com", undefined, "http://example.com/"],
    ["HTTP://EXAMPLE.com:80/a/../b", undefined, "http://example.com/b"],
    ["https://user:pa%20ss@host:8080/p?q=1#f", undefined, "https://user:pa%20ss@host:8080/p?q=1#f"],
    ["../x?y#z", "http://h/a/b/c", "http://h/a/x?y#z"],
    ["//other/p", "https://h/a", "https://other/p"],
    ["?q", "http://h/a?b", "http://h/a?q"],
    ["  http://h/\t\n ", undefined, "http://h/"],
    ["http://h/ä ö", undefined, "http://h/%C3%A4%20%C3%B6"],
    ["http://münchen.de/", undefined, "http://xn--mnchen-3ya.de/"],
    ["http://[::1]:3000/", undefined, "http://[::1]:3000/"],
    ["http://0x7f.1/", undefined, "http://127.0.0.1/"],
    ["data:text/plain,hi there", undefined, "data:text/plain,hi there"],
    ["http://h/%2e%2E/a", undefined, "http://h/a"],
    ["http:\\\\h\\p", undefined, "http://h/p"],
  ];
  for (const [input, base, href] of table) equal(new URL(input, base).href, href, input);
});
test("refuses what is not a URL", () => {
  for (const input of ["", "x", "http://", "http://a b/", "http://h:99999/", "http://[::1", "//h", "http://%00/"]) {
    throws(TypeError, () => new URL(input), input);
    equal(URL.canParse(input), false, input);
    equal(URL.parse(input), null, input);
  }
  throws(TypeError, () => new URL("/p", "not a base"));
});
test("splits into parts", () => {
  const url = new URL("https://us%40er:se%3Acret@Example.com:8443/a/b%20c?x=1&y#frag");
  equal([url.protocol, url.username, url.password, url.host, url.hostname, url.port, url.pathname, url.search, url.hash, url.origin],
    ["https:", "us%40er", "se%3Acret", "example.com:8443", "example.com", "8443", "/a/b%20c", "?x=1&y", "#frag", "https://example.com:8443"]);
  const bare = new URL("mailto:a@b");
  equal([bare.protocol, bare.host, bare.port, bare.pathname, bare.search, bare.hash, bare.origin],
    ["mailto:", "", "", "a@b", "", "", "null"]);
  const empty = new URL("http://h/?#");
  equal([empty.search, empty.hash, empty.href], ["", "", "http://h/?#"]);
  equal(new URL("blob:https://a.b/x").origin, "https://a.b");
});
test("setters", () => {
  const url = new URL("http://h/p");
  url.protocol = "https";
  url.host = "x.y:99";
  url.pathname = "a b";
  url.search = "q=ü";
  url.hash = "h";
  url.username = "u:";
  url.password = "p@";
  equal(url.href, "https://u%3A:p%40@x.y:99/a%20b?q=%C3%BC#h");
  url.port = "443";
  url.hash = "";
  url.search = "";
  equal(url.href, "https://u%3A:p%40@x.y/a%20b");
  url.port = "no";
  url.host = "";
  url.protocol = "mailto";
  equal(url.href, "https://u%3A:p%40@x.y/a%20b", "refused values change nothing");
  throws(TypeError, () => (url.href = "nope"));
  equal(`${url}`, url.href);
  equal(JSON.stringify({ url }), `{"url":"${url.href}"}`);
});
test("searchParams is linked both ways", () => {
  const url = new URL("http://h/?a=1&b=2");
  const params = url.searchParams;
  ok(params === url.searchParams);
  params.append("c", "x y");
  equal(url.search, "?a=1&b=2&c=x+y");
  params.delete("a");
  equal(url.href, "http://h/?b=2&c=x+y");
  url.search = "?z=9";
  equal([...params], [["z", "9"]]);
  url.href = "http://other/?k=v";
  equal(params.get("k"), "v");
  params.delete("k");
  equal(url.href, "http://other/");
});
test("URLSearchParams is made from text, pairs and objects", () => {
  equal(new URLSearchParams("?a=1&a=2&b").toString(), "a=1&a=2&b=");
  equal(new URLSearchParams([["a", 1], ["b", "ü"]]).toString(), "a=1&b=%C3%BC");
  equal(new URLSearchParams({ a: 1, "b c": "d&e" }).toString(), "a=1&b+c=d%26e");
  equal(new URLSearchParams(new URLSearchParams("x=1&y=2")).toString(), "x=1&y=2");
  equal(new URLSearchParams(null).toString(), "null=");
  equal([...new URLSearchParams("a+b=c%20d&%zz=%C3%28&=v&&")], [["a b", "c d"], ["%zz", "\uFFFD("], ["", "v"]]);
  throws(TypeError, () => new URLSearchParams([["a"]]));
  throws(TypeError, () => new URLSearchParams([["a", "b", "c"]]));
});
test("URLSearchParams methods", () => {
  const params = new URLSearchParams("a=1&b=2&a=3");
  equal([params.get("a"), params.get("x"), params.getAll("a"), params.has("b"), params.size], ["1", null, ["1", "3"], true, 3]);
  equal([params.has("a", "3"), params.has("a", "4")], [true, false]);
  params.set("a", "9");
  params.set("n", "0");
  equal(params.toString(), "a=9&b=2&n=0");
  params.append("a", "5");
  params.delete("a", "9");
  equal(params.toString(), "b=2&n=0&a=5");
  equal([...params.keys()], ["b", "n", "a"]);
  equal([...params.values()], ["2", "0", "5"]);
  const seen = [];
  params.forEach((value, key, all) => seen.push(key + value + (all === params)));
  equal(seen, ["b2true", "n0true", "a5true"]);
});
test("URLSearchParams methods want their arguments", () => {
  const params = new URLSearchParams("undefined=1");
  for (const name of ["append", "delete", "get", "getAll", "has", "set"]) throws(TypeError, () => params[name](), name);
  throws(TypeError, () => params.append("a"));
  throws(TypeError, () => params.set("a"));
  equal([params.toString(), params.get(undefined)], ["undefined=1", "1"]);
});
test("sort is stable and by UTF-16 units", () => {
  const params = new URLSearchParams("z=1&\u{1F300}=e&\uFB00=f&a=2&z=0&a=1");
  params.sort();
  equal([...params].map((pair) => pair.join("")), ["a2", "a1", "z1", "z0", "\u{1F300}e", "\uFB00f"]);
});
test("lone surrogates become U+FFFD", () => {
  equal(new URLSearchParams({ a: "\uD800x" }).get("a"), "\uFFFDx");
  equal(new URL("http://h/\uDC00").pathname, "/%EF%BF%BD");
});
test("sorting and iterating live", () => {
  const params = new URLSearchParams("a=1&b=2&c=3");
  const seen = [];
  for (const [key] of params) {
    seen.push(key);
    params.delete(key);
  }
  equal(seen, ["a", "c"]);
  equal(Object.prototype.toString.call(params), "[object URLSearchParams]");
});
