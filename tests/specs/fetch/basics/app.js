import { app, json, text } from "sampan";

const up = (req, path) => `http://${req.headers.get("host")}/up/${path}`;

// What is asked.
app.get("/up/json", () => new Response('{"name":"Ann","list":[],"none":null,"big":9007199254740993}', {
  headers: { "content-type": "application/json" },
}));
app.all("/up/echo", async (req) => ({
  method: req.method, body: await req.text(), query: req.query, type: req.headers.get("content-type") ?? undefined,
  own: req.headers.get("x-own") ?? undefined,
}));
app.get("/up/fields", () => text("", {
  headers: { "set-cookie": ["a=1", "b=2"], "x-two": ["one", "two"], "X-Case": "kept" },
}));
app.get("/up/status/:code", (req) => text("status", Number(req.params.code)));
app.get("/up/nothing", () => {});
app.get("/up/bytes", () => new Uint8Array([0, 255, 200]));
app.get("/up/words", () => "no JSON");

// Those who ask.
app.get("/json", async (req) => {
  const res = await fetch(up(req, "json"));
  const copy = res.clone();
  const value = await res.json();
  return {
    status: res.status, type: res.headers.get("Content-Type"), name: value.name, list: value.list, is_null: value.none === null,
    text: (await copy.text()).startsWith("{"), redirected: res.redirected, url: res.url === up(req, "json"),
  };
});
const query = (options) => {
  const params = new URLSearchParams();
  for (const [name, values] of Object.entries(options)) for (const value of [values].flat()) params.append(name, value);
  return `?${params}`;
};
app.get("/echo/:kind", async (req) => {
  const [options, search = ""] = {
    get: [{ headers: { "X-Own": "\u00e9" } }, query({ q: "a b&c", n: [1, 2] })],
    json: [{ method: "POST", body: JSON.stringify({ a: [1, 2], b: null }), headers: { "content-type": "application/json" } }],
    form: [{ method: "POST", body: new URLSearchParams({ name: "Ann Lee", "ä": "&" }), headers: {} }],
    text: [{ method: "put", body: new Blob(["text"]) }],
    list: [{ method: "PATCH", headers: [["content-type", "text/x"], ["x-own", "one"], ["x-own", "two"]], body: "x" }],
    delete: [{ method: "DELETE" }],
  }[req.params.kind];
  const res = await fetch(new Request(up(req, `echo${search}`), options));
  return res.json();
});
app.get("/fields", async (req) => {
  const { headers } = await fetch(new URL(up(req, "fields")));
  return {
    cookies: headers.getSetCookie(), two: headers.get("x-two"), case: headers.get("x-case"), none: !headers.has("x-none"),
  };
});
app.get("/status/:code", async (req) => ({ status: (await fetch(up(req, `status/${req.params.code}`))).status }));
app.get("/nothing", async (req) => {
  const res = await fetch(up(req, "nothing"));
  return { status: res.status, body: await res.text() };
});
app.get("/bytes", async (req) => {
  const res = await fetch(up(req, "bytes"));
  return { bytes: [...new Uint8Array(await res.arrayBuffer())] };
});
app.get("/head", async (req) => {
  const res = await fetch(up(req, "json"), { method: "HEAD" });
  return { status: res.status, body: await res.text() };
});
app.get("/pass/:what", (req) => fetch(up(req, req.params.what)));
app.get("/changed", async (req) => {
  const res = await fetch(up(req, "json"));
  const headers = new Headers(res.headers);
  headers.set("x-added", "yes");
  return new Response(res.body, { status: 201, headers });
});
app.get("/two", async (req) => {
  const [one, other] = await Promise.all([fetch(up(req, "json")), fetch(up(req, "status/404"))]);
  return json([one.status, other.status]);
});

// What only JavaScript has.
app.get("/form-data", async (req) => {
  const form = new FormData();
  form.set("name", "Ann");
  form.set("file", new File(["content"], "a.txt", { type: "text/plain" }));
  const { type, body } = await (await fetch(up(req, "echo"), { method: "POST", body: form })).json();
  return [type.startsWith("multipart/form-data; boundary="), body.includes('filename="a.txt"'), body.includes("content")];
});
app.get("/kinds", async (req) => {
  const res = await fetch(up(req, "json"));
  const blob = await res.clone().blob();
  return [blob.type, blob.size > 40, res.type, res.ok, res.statusText === "OK" || res.statusText === "", res.bodyUsed];
});
