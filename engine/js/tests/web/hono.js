// What the Hono app of tests/frameworks answers, through app.fetch. `app` is the bundle's default export.
const base = "http://app.example";
const get = (path, headers = {}, init = {}) => app.fetch(new Request(base + path, { headers, ...init }));
const post = (path, body, headers = {}) => app.fetch(new Request(base + path, { method: "POST", body, headers }));
const text = async (answer) => (await answer).text();

test("text, json, html, status, redirect", async () => {
  const hello = await get("/");
  equal([hello.status, hello.headers.get("content-type"), await hello.text()], [200, "text/plain;charset=UTF-8", "hello"]);
  const json = await get("/json");
  equal([json.headers.get("content-type"), await json.json()], ["application/json", { ok: true, list: [1, "ü", null] }]);
  const page = await get("/html");
  equal([page.headers.get("content-type"), await page.text()], ["text/html; charset=UTF-8", "<p>&lt;escaped&gt; &amp; more</p>"]);
  const none = await get("/status");
  equal([none.status, none.body], [204, null]);
  const redirect = await get("/redirect");
  equal([redirect.status, redirect.headers.get("location")], [301, "/json"]);
});
test("headers both ways", async () => {
  const answer = await get("/header", { "X-In": "given" });
  equal([answer.status, answer.headers.get("x-one"), answer.headers.get("x-many"), await answer.text()], [201, "1", "a, b", "given"]);
});
test("the router", async () => {
  equal(await text(get("/user/J%C3%BCrgen")), "user Jürgen");
  equal(await (await get("/user/a/post/12")).json(), { name: "a", id: "12" });
  equal((await get("/user/a/post/x")).status, 404);
  equal(await text(get("/files/a/b.txt")), "file a/b.txt");
  equal([await text(get("/maybe")), await text(get("/maybe/x"))], ["nothing", "x"]);
  equal(await (await get("/query?q=1&q=a%20b&z=")).json(), { one: "1", all: ["1", "a b"], rest: { q: "1", z: "" } });
  equal(await text(get("/any", {}, { method: "DELETE" })), "DELETE");
  equal(await text(get("/sub/deep")), "deep");
  const head = await get("/json", {}, { method: "HEAD" });
  equal([head.status, head.body], [200, null]);
});
test("notFound and onError", async () => {
  const missing = await get("/nowhere");
  equal([missing.status, await missing.text()], [404, "no /nowhere"]);
  const failed = await get("/throw");
  equal([failed.status, await failed.json()], [500, { error: "thrown on purpose" }]);
  const teapot = await get("/http-exception");
  equal([teapot.status, await teapot.text()], [418, "a teapot"]);
});
test("cors", async () => {
  const simple = await get("/cors/data", { Origin: "https://a.example" });
  equal([simple.headers.get("access-control-allow-origin"), simple.headers.get("access-control-allow-credentials")], ["https://a.example", "true"]);
  const preflight = await get("/cors/data", { Origin: "https://a.example", "Access-Control-Request-Headers": "x-a, x-b" }, { method: "OPTIONS" });
  equal([preflight.status, preflight.headers.get("access-control-allow-methods"), preflight.headers.get("access-control-max-age"),
    preflight.headers.get("access-control-allow-headers")], [204, "GET,PUT", "60", "x-a,x-b"]);
});
test("etag", async () => {
  const first = await get("/etag/data");
  const tag = first.headers.get("etag");
  ok(/^"[0-9a-f]{40}"$/.test(tag), tag);
  equal(await first.text(), "content with a tag");
  const second = await get("/etag/data", { "If-None-Match": tag });
  equal([second.status, second.headers.get("etag"), await second.text()], [304, tag, ""]);
});
test("logger", async () => {
  const before = logged.length;
  await get("/logged/x");
  const lines = logged.slice(before).map(([, line]) => line);
  equal([lines.length, lines[0].includes("GET /logged/x"), lines[1].includes("200")], [2, true, true]);
});
test("basic-auth", async () => {
  const refused = await get("/admin/page");
  equal([refused.status, refused.headers.get("www-authenticate")], [401, 'Basic realm="Secure Area"']);
  const encode = (credentials) => `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(credentials)))}`;
  equal((await get("/admin/page", { Authorization: encode("admin:wrong") })).status, 401);
  equal(await text(get("/admin/page", { Authorization: encode("admin:pässword") })), "admin");
});
test("jwt", async () => {
  const token = await text(get("/token"));
  equal((await (await get("/jwt/me", { Authorization: `Bearer ${token}` })).json()).sub, "somebody");
  equal((await get("/jwt/me", { Authorization: `Bearer ${token.slice(0, -2)}AA` })).status, 401);
  equal((await get("/jwt/me")).status, 401);
});
test("cookies", async () => {
  const first = await get("/cookie");
  const set = first.headers.getSetCookie();
  equal(await first.text(), "never");
  equal([set.length, set[0]], [2, "seen=yes%2C%20once; Max-Age=60; Path=/; HttpOnly"]);
  ok(set[1].startsWith("old=; Max-Age=0"), set[1]);
  equal(await text(get("/cookie", { Cookie: "a=b; seen=yes%2C%20once" })), "yes, once");
  const signed = (await get("/signed")).headers.getSetCookie()[0].split(";")[0];
  equal(await (await get("/signed", { Cookie: signed })).json(), { value: "me" });
  equal(await (await get("/signed", { Cookie: signed.replace("me.", "you.") })).json(), { value: false });
});
test("bodies", async () => {
  equal(await (await post("/json", '{"a":[1,{"b":null}]}')).json(), { a: [1, { b: null }] });
  equal(await text(post("/text", "straße")), "STRASSE");
  equal([...(await (await post("/bytes", bytes(1, 2, 255))).bytes())], [255, 2, 1]);
  equal(await (await post("/twice", '{"a":1}')).json(), ['{"a":1}', { a: 1 }]);
  equal((await post("/json", "{")).status, 500);
});
test("parseBody, urlencoded", async () => {
  const answer = await post("/form", new URLSearchParams([["a", "1"], ["b", "x & y"], ["a", "2"]]));
  equal(await answer.json(), { a: ["1", "2"], b: "x & y" });
});
test("parseBody, multipart", async () => {
  const form = new FormData();
  form.append("name", "ü");
  form.append("file", new File([bytes(0, 13, 10, 45, 45, 255)], "b.bin", { type: "application/x-b" }));
  const answer = await post("/form", form);
  equal(await answer.json(), { name: "ü", file: { file: "b.bin", type: "application/x-b", size: 6 } });
  const upload = await post("/upload", form);
  equal([upload.headers.get("content-type"), [...(await upload.bytes())]], ["application/x-b", [0, 13, 10, 45, 45, 255]]);
});
test("body-limit, timeout, request-id, secure-headers, variables", async () => {
  equal(await text(post("/limited", "short", { "Content-Length": "5" })), "short");
  equal((await post("/limited", "much too long", { "Content-Length": "13" })).status, 413);
  equal((await get("/slow")).status, 504);
  ok(/^[0-9a-f-]{36}$/.test(await text(get("/id"))));
  equal((await get("/secure/x")).headers.get("x-content-type-options"), "nosniff");
  const timed = await get("/timed/x");
  equal([await timed.text(), timed.headers.get("x-began")], ["yes", "yes"]);
});
test("stream", async () => {
  const chunks = [];
  for await (const chunk of (await get("/stream")).body) chunks.push([...chunk]);
  equal(chunks, [[0, 255], [1, 254], [2, 253], [...new TextEncoder().encode("piped")]]);
});
test("streamText", async () => {
  const answer = await get("/text-stream");
  equal(answer.headers.get("content-type"), "text/plain; charset=UTF-8");
  equal(await answer.text(), "one\ntwo\ndrei ü\n");
});
test("server-sent events", async () => {
  const answer = await get("/sse");
  equal(answer.headers.get("content-type"), "text/event-stream");
  equal(await answer.text(),
    "event: tick\ndata: line 0\ndata: second\nid: 0\n\nevent: tick\ndata: line 1\ndata: second\nid: 1\n\n");
});
test("a reader that goes away ends the stream", async () => {
  const answer = await get("/endless");
  const reader = answer.body.getReader();
  equal(new TextDecoder().decode((await reader.read()).value), "x");
  await reader.cancel();
  await new Promise((resolve) => setTimeout(resolve, 10));
  equal(await text(get("/endless/state")), "aborted");
});
