// Headers: validation, combining, order.
test("combines equal names", () => {
  const headers = new Headers([["A", "1"], ["b", "2"], ["a", " 3\t"]]);
  equal([headers.get("a"), headers.get("B"), headers.get("c")], ["1, 3", "2", null]);
  equal([...headers], [["a", "1, 3"], ["b", "2"]]);
  headers.set("A", "9");
  equal(headers.get("a"), "9");
  headers.append("a", "");
  equal(headers.get("a"), "9, ");
  headers.delete("a");
  equal(headers.has("a"), false);
});
test("is made from objects, pairs and Headers", () => {
  equal([...new Headers({ "X-B": 1, "x-a": "2" })], [["x-a", "2"], ["x-b", "1"]]);
  const copy = new Headers(new Headers({ a: "1" }));
  equal(copy.get("a"), "1");
  equal([...new Headers(new Map([["k", "v"]]))], [["k", "v"]]);
  equal([...new Headers(undefined)], []);
  throws(TypeError, () => new Headers(null));
  throws(TypeError, () => new Headers("a: b"));
  throws(TypeError, () => new Headers([["a"]]));
  throws(TypeError, () => new Headers([["a", "b", "c"]]));
  throws(TypeError, () => new Headers(["ab"]));
  throws(TypeError, () => new Headers({ [Symbol("s")]: "x" }));
});
test("refuses invalid names", () => {
  const headers = new Headers();
  for (const name of ["", " ", "a b", "a:", "a\n", "\0", "ü", "a(", "a\"", "{", "\uD800"]) {
    throws(TypeError, () => headers.append(name, "x"), name);
    throws(TypeError, () => headers.set(name, "x"), name);
    throws(TypeError, () => headers.get(name), name);
    throws(TypeError, () => headers.has(name), name);
    throws(TypeError, () => headers.delete(name), name);
  }
  for (const name of ["!#$%&'*+-.^_`|~", "__proto__", "constructor", "0"]) {
    headers.set(name, "v");
    equal(headers.get(name), "v");
  }
});
test("refuses values with control characters", () => {
  const headers = new Headers({ a: "before" });
  for (const value of ["x\r\nSet-Cookie: y=1", "x\ny", "\rx\0", "x\0", "x\v", "\fx", "\u0100", "€", "a\x7fb",
    "a\x1bb", "\uD800"]) {
    throws(TypeError, () => headers.append("a", value), value);
    throws(TypeError, () => headers.set("a", value), value);
    throws(TypeError, () => new Headers({ a: value }), value);
  }
  equal(headers.get("a"), "before");
  headers.set("a", "\r\n\t secret \n");
  equal(headers.get("a"), "secret");
  headers.set("a", "tab\tin and \xff");
  equal(headers.get("a"), "tab\tin and \xff");
});
test("keeps each Set-Cookie", () => {
  const headers = new Headers();
  headers.append("Set-Cookie", "a=1");
  headers.append("x", "y");
  headers.append("set-cookie", "b=2; Expires=Wed, 21 Oct 2026 07:28:00 GMT");
  equal(headers.getSetCookie(), ["a=1", "b=2; Expires=Wed, 21 Oct 2026 07:28:00 GMT"]);
  equal([...headers.keys()], ["set-cookie", "set-cookie", "x"]);
  equal([...headers.values()], ["a=1", "b=2; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "y"]);
  equal(new Headers(headers).getSetCookie().length, 2);
  headers.delete("set-cookie");
  equal(headers.getSetCookie(), []);
});
test("iterates sorted and live", () => {
  const headers = new Headers([["c", "3"], ["a", "1"]]);
  const seen = [];
  for (const [name] of headers) {
    seen.push(name);
    if (name === "a") headers.append("b", "2");
  }
  equal(seen, ["a", "b", "c"]);
  const each = [];
  headers.forEach((value, name, all) => each.push(`${name}=${value}${all === headers}`));
  equal(each, ["a=1true", "b=2true", "c=3true"]);
  equal(Object.prototype.toString.call(headers), "[object Headers]");
  ok(typeof headers.entries().next === "function" && typeof headers.entries()[Symbol.iterator] === "function");
});
test("keeps the contract's list", () => {
  const headers = new Headers([["B", "1"], ["A", "2"], ["b", "3"]]);
  equal(headers[Symbol.for("sampan.list")], ["b", "1", "a", "2", "b", "3"]);
  headers.set("b", "4");
  equal(headers[Symbol.for("sampan.list")], ["b", "4", "a", "2"]);
});
test("methods want a Headers", () => {
  throws(TypeError, () => Headers.prototype.get.call({}, "a"));
  throws(TypeError, () => Headers({}));
});
test("works on an object that native code made", () => {
  const made = { __proto__: Headers.prototype, [Symbol.for("sampan.list")]: ["host", "h", "accept", "*/*"] };
  ok(made instanceof Headers);
  equal([...made], [["accept", "*/*"], ["host", "h"]]);
  equal(new Headers(made).get("host"), "h");
});
test("immutable headers", () => {
  const { headers } = Response.redirect("http://h/");
  throws(TypeError, () => headers.set("a", "b"));
  throws(TypeError, () => headers.append("a", "b"));
  throws(TypeError, () => headers.delete("location"));
  const copy = new Headers(headers);
  copy.set("a", "b");
  equal(copy.get("location"), "http://h/");
});
