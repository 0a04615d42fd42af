import { app, codec } from "sampan";

const at = (req, name) => req.headers.get(`x-${name}`);

// A megabyte of zeros.
const BOMB = [
  "H4sIAAyYCGsC/+3BMQEAAADCoPVPbQhfoAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAPgMc6jinAAAQ",
  "AA==",
].join("");
app.get("/up/bomb", () => new Response(codec.base64Decode(BOMB), { headers: { "content-encoding": "gzip" } }));

const told = async (answer) => {
  try {
    const res = await answer;
    return { status: res.status, body: await res.text() };
  } catch (error) {
    return { code: error.cause.code, message: error.message, type: error instanceof TypeError ? undefined : error.name };
  }
};
const LIMITS = { silent: { head: "40ms" }, slow: { idle: "40ms" } };
const ask = (req, name = req.params.name) => fetch(`http://${at(req, name)}/`, { sampan: LIMITS[name] });

app.get("/ask/:name", async (req) => {
  const first = await told(ask(req));
  // The next request is none the worse for it.
  first.next = await (await ask(req, "fine")).text();
  return first;
});
app.get("/uncaught/:name", async (req) => new Response(await (await ask(req)).text()));
app.get("/late", (req) => fetch(`http://${at(req, "silent")}/`, { signal: AbortSignal.timeout(20) }));
app.get("/stream/:name", async (req) => {
  const res = await ask(req);
  const decoder = new TextDecoder();
  let got = "";
  let ok = true, code;
  try {
    for await (const chunk of res.body) got += decoder.decode(chunk);
  } catch (error) {
    ok = false;
    code = error.cause.code;
  }
  return { status: res.status, got, ok, code };
});
app.get("/json/:name", async (req) => {
  try {
    await (await ask(req)).json();
  } catch (error) {
    return { ok: false, code: error.code };
  }
});
app.get("/bomb", (req) => told(fetch(`http://${req.headers.get("host")}/up/bomb`, { sampan: { bodyBytesMax: 100000 } })));
app.get("/url", (req) => told(fetch(req.query.url)));
app.get("/tls", (req) => told(fetch(`https://${req.headers.get("host")}/`)));
