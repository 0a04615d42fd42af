// A script that patches the built-ins changes its own code, not how headers and bodies are made.
const kept = {
  push: Array.prototype.push, join: Array.prototype.join, lower: String.prototype.toLowerCase,
  replaceAll: String.prototype.replaceAll, test: RegExp.prototype.test, set: Object.getPrototypeOf(Uint8Array.prototype).set,
  then: Promise.prototype.then, get: Map.prototype.get,
};
function patch() {
  Array.prototype.push = function () { return 0; };
  Array.prototype.join = () => "joined";
  String.prototype.toLowerCase = () => "lower\r\nX: y";
  String.prototype.replaceAll = function () { return this; };
  RegExp.prototype.test = () => true;
  Object.getPrototypeOf(Uint8Array.prototype).set = () => {};
  Map.prototype.get = () => undefined;
}
function restore() {
  Array.prototype.push = kept.push;
  Array.prototype.join = kept.join;
  String.prototype.toLowerCase = kept.lower;
  String.prototype.replaceAll = kept.replaceAll;
  RegExp.prototype.test = kept.test;
  Object.getPrototypeOf(Uint8Array.prototype).set = kept.set;
  Map.prototype.get = kept.get;
}
test("headers", () => {
  patch();
  let list;
  let failed = false;
  try {
    const headers = new Headers({ "X-New-Name": "v" });
    headers.append("Set-Cookie", "a");
    list = headers[Symbol.for("sampan.list")];
    try {
      headers.set("x", "a\r\nb");
    } catch {
      failed = true;
    }
  } finally {
    restore();
  }
  equal(list, ["x-new-name", "v", "set-cookie", "a"]);
  equal(failed, true);
});
test("multipart bodies", async () => {
  patch();
  let response;
  try {
    const form = new FormData();
    form.append('a"\r\nX: y', new File(["content"], 'n"\r\nY: z'));
    response = new Response(form);
  } finally {
    restore();
  }
  const [[name, file]] = [...(await response.formData())];
  equal([name, file.name, await file.text()], ['a"\r\nX: y', 'n"\r\nY: z', "content"]);
});
test("timers", async () => {
  patch();
  let done;
  try {
    done = new Promise((resolve) => setTimeout(resolve, 5, "value"));
  } finally {
    restore();
  }
  equal(await done, "value");
});
test("replaced globals do not reach the inside", async () => {
  const { Headers: Own, DOMException: Dom } = globalThis;
  globalThis.Headers = class Fake {};
  globalThis.DOMException = class Fake {};
  try {
    ok(new Response("x").headers instanceof Own);
    ok(AbortSignal.abort().reason instanceof Dom);
  } finally {
    globalThis.Headers = Own;
    globalThis.DOMException = Dom;
  }
});
