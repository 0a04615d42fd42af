"use strict";
// `serve({ tls })`: HTTPS, HTTP/2 and WebSockets over TLS, for clients that check the certificate.

const assert = require("node:assert/strict");
const { createPrivateKey } = require("node:crypto");
const { readFileSync } = require("node:fs");
const http2 = require("node:http2");
const path = require("node:path");
const tls = require("node:tls");
const { test, serve, serving, ask, isBun } = require("./harness.cjs");

const folder = process.env.SAMPAN_CERTIFICATES;
const file = (name) => path.join(folder, name);
const read = (name) => readFileSync(file(name));
const pair = (name) => ({ cert: read(`${name}.pem`), key: read(`${name}.key`) });

/** What clients trust: one certificate, because those that sign themselves may have the same subject. */
const trusted = (name = "localhost") => [read(`${name}.pem`)];

/** A connection that checks the certificate; `what` has options of `tls.connect`. */
function connect(server, what = {}) {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ host: "127.0.0.1", port: server.port, servername: "localhost", ca: trusted(), ...what }, () => resolve(socket));
    socket.on("error", reject);
  });
}

/** All that comes on a connection after these bytes. */
function exchange(socket, bytes, until) {
  return new Promise((resolve, reject) => {
    let text = "";
    const end = () => {
      socket.destroy();
      resolve(text);
    };
    socket.on("data", (data) => {
      text += data.toString("latin1");
      if (until !== undefined && text.includes(until)) end();
    });
    socket.on("close", end);
    socket.on("error", reject);
    socket.write(bytes);
  });
}

const get = async (server, what, target = "/") =>
  exchange(await connect(server, what), `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);

test("tls: a client that checks the certificate", () =>
  serving({ tls: pair("localhost"), fetch: (request) => `${request.method} ${request.url}` }, async (server) => {
    assert.equal(server.url.protocol, "https:");
    const answer = await get(server, {}, "/path?x=1");
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nGET https:\/\/localhost\/path\?x=1$/);
    await assert.rejects(connect(server, { servername: "elsewhere.test" }), /altname|ERR_TLS|hostname/i);
    const plain = await ask(server, "/");
    assert.equal(plain.status, 400);
  }));

test("tls: the forms of certificates and keys", async () => {
  const [cert, key] = ["localhost.pem", "localhost.key"].map((name) => read(name));
  const locked = createPrivateKey(key).export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "secret" });
  const forms = [
    { cert: cert.toString(), key: key.toString() },
    { cert: [cert], key: new Uint8Array(key) },
    { certFile: file("localhost.pem"), keyFile: file("localhost.key") },
    { cert, key: locked, passphrase: "secret" },
    [{ cert, key }],
  ];
  if (isBun) forms.push({ cert: Bun.file(file("localhost.pem")), key: Bun.file(file("localhost.key")) });
  for (const form of forms) {
    await serving({ tls: form, fetch: () => "secure" }, async (server) => {
      assert.match(await get(server), /secure$/);
    });
  }
});

test("tls: certificates by name", () => {
  const certificates = ["localhost", "other.test"].map((serverName) => ({ ...pair(serverName), serverName }));
  return serving({ tls: certificates, fetch: () => "" }, async (server) => {
    for (const servername of ["localhost", "other.test"]) {
      const socket = await connect(server, { servername, ca: trusted(servername) });
      assert.match(socket.getPeerCertificate().subjectaltname, new RegExp(servername));
      socket.destroy();
    }
  });
});

test("tls: certificates of clients", async () => {
  const asking = { ...pair("localhost"), ca: read("ca.pem"), requestCert: true };
  await serving({ tls: asking, fetch: () => "known" }, async (server) => {
    assert.match(await get(server, pair("client")), /known$/);
    // By TLS 1.3 a client learns of it only when it reads.
    const stranger = await get(server).catch((error) => error.message);
    assert.doesNotMatch(stranger, /known/);
  });
  await serving({ tls: { ...asking, rejectUnauthorized: false }, fetch: () => "any" }, async (server) => {
    assert.match(await get(server), /any$/);
  });
});

/** A connection of HTTP/2. */
const connectHttp2 = (server) =>
  http2.connect(`https://localhost:${server.port}`, { ca: trusted(), lookup: (_, options, done) => (options?.all ? done(null, [{ address: "127.0.0.1", family: 4 }]) : done(null, "127.0.0.1", 4)) });

test("tls: HTTP/2", () =>
  serving({ tls: pair("localhost"), fetch: async (request) => `${request.method} ${request.url} ${await request.text()}` }, async (server) => {
    const session = connectHttp2(server);
    const post = (target) => new Promise((resolve, reject) => {
      const stream = session.request({ ":method": "POST", ":path": target });
      let body = "";
      let status;
      stream.on("response", (headers) => { status = headers[":status"]; });
      stream.on("data", (data) => { body += data; });
      stream.on("end", () => resolve([status, body]));
      stream.on("error", reject);
      stream.end("sent");
    });
    try {
      const answers = await Promise.all(["/a", "/b", "/c"].map(post));
      assert.deepEqual(answers, ["/a", "/b", "/c"].map((target) => [200, `POST https://localhost:${server.port}${target} sent`]));
    } finally {
      session.close();
    }
  }));

test("tls: WebSockets", () => {
  const websocket = { message: (ws, message) => { ws.send(`${message}!`); } };
  return serving({ tls: pair("localhost"), fetch: (request, server) => void server.upgrade(request), websocket }, async (server) => {
    const head =
      "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    const message = Buffer.concat([Buffer.from(head), Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69])]);
    const answer = await exchange(await connect(server), message, "hi!");
    assert.match(answer, /^HTTP\/1\.1 101 [^]*\r\n\r\n\x81\x03hi!$/);
  });
});

/** Opens a WebSocket over HTTP/2 (RFC 8441). `receive(end)` waits for bytes that end so. */
async function tunnel(session, fields = {}) {
  const stream = session.request({
    ":method": "CONNECT", ":protocol": "websocket", ":scheme": "https", ":authority": "localhost", ":path": "/room",
    "sec-websocket-version": "13", ...fields,
  });
  let text = "";
  let look = () => {};
  stream.on("data", (data) => {
    text += data.toString("latin1");
    look();
  });
  const head = await new Promise((resolve, reject) => {
    stream.on("response", resolve);
    stream.on("error", reject);
  });
  const receive = (end) => new Promise((resolve) => {
    look = () => {
      if (!text.endsWith(end)) return;
      resolve(text);
      text = "";
    };
    look();
  });
  return { stream, head, receive };
}

// Bun's client of HTTP/2 has no extended CONNECT.
if (!isBun) {
  test("tls: WebSockets over HTTP/2", () => {
    const seen = [];
    const websocket = {
      open(ws) { ws.subscribe("all"); },
      message(ws, message) { ws.publish("all", `${ws.data.path} ${message}!`); },
      close(ws, code) { seen.push(code); },
    };
    const fetch = (request, server) => {
      seen.push(`${request.method} ${request.headers.get("upgrade")}`);
      const data = { path: new URL(request.url).pathname };
      return server.upgrade(request, { data, headers: { "X-A": "b" } }) ? undefined : new Response("no", { status: 426 });
    };
    return serving({ tls: pair("localhost"), fetch, websocket }, async (server) => {
      const session = connectHttp2(server);
      try {
        await new Promise((resolve) => session.once("remoteSettings", resolve));
        assert.equal(session.remoteSettings.enableConnectProtocol, true);
        const [one, other] = [await tunnel(session, { "sec-websocket-protocol": "chat, x" }), await tunnel(session)];
        assert.deepEqual([one.head[":status"], one.head["x-a"], one.head["sec-websocket-protocol"]], [200, "b", "chat"]);
        assert.equal(one.head["sec-websocket-accept"], undefined);
        one.stream.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]));
        assert.equal(await other.receive("!"), "\x81\x09/room hi!");
        other.stream.write(Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x0f, 0xa0]));
        assert.equal(await other.receive("\x0f\xa0"), "\x88\x02\x0f\xa0");
        const old = await tunnel(session, { "sec-websocket-version": "8" });
        assert.equal(old.head[":status"], 426);
        const upgrade = "GET websocket";
        assert.deepEqual(seen, [upgrade, upgrade, 4000, upgrade]);
      } finally {
        session.destroy();
      }
    });
  });
}

test("tls: options that cannot be used are refused", () => {
  const refused = (options, text) => assert.throws(() => serve({ port: 0, hostname: "127.0.0.1", fetch: () => "", tls: options }), text);
  const { cert, key } = pair("localhost");
  refused({ cert }, /serve: tls\.key is missing/);
  refused([], /give at least one certificate/);
  refused("yes", /tls must be an object/);
  refused({ cert, key, dhParamsFile: "x" }, /tls has no "dhParamsFile"; it has cert, key/);
  refused({ cert: 1, key }, /tls\.cert must be PEM/);
  refused({ certFile: "/nowhere", keyFile: "/nowhere" }, /tls\.certFile: ENOENT/);
  refused({ cert, certFile: "x", key }, /tls\.cert and tls\.certFile mean the same/);
  refused({ cert: "no PEM", key }, /serve: tls\.cert: /);
  refused({ cert, key: "no PEM" }, /serve: tls\.key: holds no private key/);
  refused({ cert, key: pair("client").key }, /tls\.key: the key is not the one of the first certificate in tls\.cert/);
  refused([pair("localhost"), { cert, key: pair("client").key }], /tls\[1\]\.key: the key is not the one/);
  refused([pair("client"), { cert, key, serverName: "other.test" }], /tls\[1\]\.cert is not for tls\[1\]\.serverName "other\.test"/);
  refused({ cert, key, requestCert: true }, /tls\.requestCert needs tls\.ca/);
  refused({ cert, key, ca: read("ca.pem") }, /tls\.ca is for certificates of clients/);
  refused({ cert, key, passphrase: 1 }, /tls\.passphrase must be a string/);
});
