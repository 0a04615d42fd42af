"use strict";
// `serve({ websocket })`: what handlers and clients see.

const assert = require("node:assert/strict");
const net = require("node:net");
const { constants } = require("node:buffer");
const { Sockets } = require("../../package/serve/sockets/registry.cjs");
const { test, serve, serving, ask, sleep } = require("./harness.cjs");

/** Waits until `look` gives something true. */
async function until(look, what) {
  const end = Date.now() + 10_000;
  for (;;) {
    const found = look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`${what} did not happen`);
    await sleep(1);
  }
}

/** A client: the platform's WebSocket, whose messages are received one by one. */
async function connect(server, path = "/", protocols = []) {
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}${path}`, protocols);
  socket.binaryType = "arraybuffer";
  const inbox = [];
  const closed = new Promise((resolve) => socket.addEventListener("close", ({ code, reason }) => resolve({ code, reason })));
  socket.addEventListener("message", ({ data }) => inbox.push(typeof data === "string" ? data : [...new Uint8Array(data)]));
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", () => reject(new Error("refused")));
  });
  return {
    socket,
    inbox,
    closed,
    send: (data) => socket.send(data),
    close: (code, reason) => socket.close(code, reason),
    receive: () => until(() => inbox.length > 0 && [inbox.shift()], "a message").then(([message]) => message),
  };
}

/** The head of a request for a WebSocket. */
function handshake(headers = "", target = "/") {
  return `GET ${target} HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
    `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${headers}\r\n`;
}

/** A client that writes and reads bytes. */
async function raw(server, headers = "", target = "/", body = "") {
  const socket = net.connect(server.port, "127.0.0.1");
  let bytes = Buffer.alloc(0);
  let isOver = false;
  socket.on("data", (data) => { bytes = Buffer.concat([bytes, data]); });
  socket.on("close", () => { isOver = true; });
  socket.on("error", () => {});
  socket.write(handshake(headers, target) + body);
  await until(() => bytes.includes("\r\n\r\n"), "an answer");
  const at = bytes.indexOf("\r\n\r\n") + 4;
  const head = bytes.toString("latin1", 0, at);
  bytes = bytes.subarray(at);
  return { socket, head, bytes: () => bytes, isOver: () => isOver };
}

/** A frame of a client, with a mask of zeros. */
function frame(opcode, payload = "") {
  const bytes = Buffer.from(payload);
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | bytes.length, 0, 0, 0, 0]), bytes]);
}

const upgrading = (websocket, options = {}) => ({
  fetch(request, server) {
    return server.upgrade(request, { data: { path: new URL(request.url).pathname } }) ? undefined : new Response("no WebSocket", { status: 426 });
  },
  websocket,
  ...options,
});

test("websocket: an echo, with data", () => {
  const seen = [];
  const websocket = {
    open(ws) { ws.send(`hello ${ws.data.path} ${ws.remoteAddress} ${ws.readyState}`); },
    message(ws, message) {
      seen.push(message);
      assert.ok(ws.send(message) > 0);
    },
  };
  return serving(upgrading(websocket), async (server) => {
    const client = await connect(server, "/room");
    assert.equal(await client.receive(), "hello /room 127.0.0.1 1");
    for (const message of ["text", "", "ü".repeat(70_000)]) {
      client.send(message);
      assert.equal(await client.receive(), message);
    }
    client.send(new Uint8Array([0, 255]));
    assert.deepEqual(await client.receive(), [0, 255]);
    assert.ok(Buffer.isBuffer(seen[3]));
    const large = "x".repeat(3_000_000);
    client.send(large);
    assert.equal((await client.receive()).length, large.length);
    assert.equal(server.pendingWebSockets, 1);
    client.close();
    await until(() => server.pendingWebSockets === 0, "the end");
  });
});

test("websocket: many messages stay in their order", () => {
  const websocket = { message: (ws, message) => { ws.send(message); } };
  return serving(upgrading(websocket), async (server) => {
    const clients = await Promise.all(Array.from({ length: 8 }, () => connect(server)));
    const all = Array.from({ length: 2_000 }, (_, index) => `message ${index}`);
    for (const client of clients) for (const message of all) client.send(message);
    for (const client of clients) {
      await until(() => client.inbox.length === all.length, "all messages");
      assert.deepEqual(client.inbox, all);
      client.close();
    }
  });
});

test("websocket: a refused upgrade is an answer", () => {
  const guarded = {
    fetch(request, server) {
      if (request.headers.get("authorization") !== "yes") return new Response("who are you", { status: 401 });
      return server.upgrade(request) ? undefined : new Response("no WebSocket", { status: 400 });
    },
    websocket: { message() {} },
  };
  return serving(guarded, async (server) => {
    assert.match((await raw(server)).head, /^HTTP\/1\.1 401 /);
    assert.match((await raw(server, "Authorization: yes\r\n")).head, /^HTTP\/1\.1 101 [^]*s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/);
    const plain = await ask(server, "/", { headers: "Authorization: yes\r\n" });
    assert.deepEqual([plain.status, plain.body], [400, "no WebSocket"]);
    assert.throws(() => server.upgrade(new Request("http://h/")), /the request that the handler got/);
  });
});

test("websocket: headers, subprotocols and late upgrades", () => {
  const options = {
    async fetch(request, server) {
      const protocol = new URL(request.url).searchParams.get("protocol");
      const headers = { "x-own": "1" };
      if (protocol) headers["Sec-WebSocket-Protocol"] = protocol;
      await sleep(1);
      assert.ok(server.upgrade(request, { headers }));
      assert.equal(server.upgrade(request), false);
    },
    websocket: { message() {} },
  };
  return serving(options, async (server) => {
    const client = await raw(server, "Sec-WebSocket-Protocol: a, b\r\n");
    assert.match(client.head, /x-own: 1\r\n/i);
    assert.match(client.head, /sec-websocket-protocol: a\r\n/i);
    assert.equal((await connect(server, "/?protocol=b", ["a", "b"])).socket.protocol, "b");
  });
});

test("websocket: a handler may go on after its upgrade, whatever the request has", () => {
  const upgraded = async (request, server) => {
    if (!server.upgrade(request)) return new Response("no WebSocket", { status: 426 });
    await sleep(1);
    return undefined;
  };
  const websocket = { message: (ws, message) => { ws.send(message); } };
  return serving({ routes: { "/:a/:b/:c/:d/:e": upgraded }, fetch: upgraded, websocket }, async (server) => {
    const body = "x".repeat(200_000);
    for (const client of [await raw(server, `Content-Length: ${body.length}\r\n`, "/", body), await raw(server, "", "/1/2/3/4/5")]) {
      assert.match(client.head, /^HTTP\/1\.1 101 /);
      client.socket.write(frame(1, "still here"));
      await until(() => client.bytes().includes("still here"), "an echo");
    }
  });
});

test("websocket: the end of a socket is told where another client comes in the same turn", () => {
  const seen = [];
  let count = 0;
  const options = {
    fetch(request, server) { server.upgrade(request, { data: ++count }); },
    websocket: {
      open(ws) { seen.push(`open ${ws.data}`); },
      message() {},
      close(ws) { seen.push(`close ${ws.data}`); },
    },
  };
  return serving(options, async (server) => {
    const first = await raw(server);
    const second = net.connect(server.port, "127.0.0.1");
    second.on("error", () => {});
    await new Promise((resolve) => second.once("connect", resolve));
    await until(() => seen.length === 1, "open");
    // The server has its connection by then.
    assert.equal((await ask(server, "/")).status, 204);
    first.socket.destroy();
    second.write(handshake());
    await until(() => seen.length === 3, "close and open");
    assert.deepEqual(seen.sort(), ["close 1", "open 1", `open ${count}`]);
  });
});

test("websocket: topics", () => {
  const sockets = [];
  const websocket = {
    open(ws) {
      sockets.push(ws);
      ws.subscribe("all");
      ws.send("ready");
    },
    message(ws, message) { ws.send(`published ${ws.publish("all", message)}`); },
  };
  return serving(upgrading(websocket), async (server) => {
    const [one, two, three] = [await connect(server), await connect(server), await connect(server)];
    for (const client of [one, two, three]) assert.equal(await client.receive(), "ready");
    one.send("to the others");
    assert.equal(await one.receive(), "published 13");
    assert.equal(await two.receive(), "to the others");
    assert.equal(await three.receive(), "to the others");
    assert.equal(server.subscriberCount("all"), 3);
    assert.deepEqual([sockets[0].isSubscribed("all"), sockets[0].subscriptions], [true, ["all"]]);
    sockets[0].unsubscribe("all");
    assert.deepEqual([sockets[0].isSubscribed("all"), server.subscriberCount("all")], [false, 2]);
    const large = new Uint8Array(100_000).fill(7);
    assert.equal(server.publish("all", large), 100_000);
    for (const client of [two, three]) assert.deepEqual((await client.receive()).length, large.length);
    assert.equal(server.publish("none", "x"), 0);
    two.close();
    await until(() => server.subscriberCount("all") === 1, "the end of a subscription");
    assert.deepEqual(one.inbox, []);
  });
});

test("websocket: published messages reach every socket", () => {
  const websocket = { open: (ws) => ws.subscribe("all"), message() {}, publishToSelf: true };
  return serving(upgrading(websocket), async (server) => {
    const clients = await Promise.all(Array.from({ length: 50 }, () => connect(server)));
    await until(() => server.subscriberCount("all") === 50, "all subscriptions");
    for (let index = 0; index < 100; index++) server.publish("all", `message ${index}`);
    for (const client of clients) {
      await until(() => client.inbox.length === 100, "all messages");
      assert.equal(client.inbox[99], "message 99");
    }
  });
});

test("websocket: close codes of both ends", () => {
  const closed = [];
  const websocket = {
    message(ws, message) {
      if (message === "bye") {
        ws.close(4001, "done");
        assert.equal(ws.readyState, 2);
        assert.equal(ws.send("never"), 0);
      } else ws.terminate();
    },
    close(ws, code, reason) { closed.push([code, reason, ws.readyState, ws.send("late"), ws.getBufferedAmount()]); },
  };
  return serving(upgrading(websocket), async (server) => {
    const one = await connect(server);
    one.send("bye");
    assert.deepEqual(await one.closed, { code: 4001, reason: "done" });
    await until(() => closed.length === 1, "close");
    const two = await connect(server);
    two.close(4002, "enough");
    assert.deepEqual(await two.closed, { code: 4002, reason: "enough" });
    await until(() => closed.length === 2, "close");
    const three = await connect(server);
    three.send("terminate");
    assert.equal((await three.closed).code, 1006);
    await until(() => closed.length === 3, "close");
    const four = await raw(server);
    four.socket.destroy();
    await until(() => closed.length === 4, "close");
    assert.deepEqual(closed, [[4001, "done", 3, 0, 0], [4002, "enough", 3, 0, 0], [1006, "", 3, 0, 0], [1006, "", 3, 0, 0]]);
    assert.equal(server.pendingWebSockets, 0);
  });
});

test("websocket: faults of the protocol end the socket", () => {
  const closed = [];
  const websocket = { message() {}, close: (_, code) => closed.push(code), maxPayloadLength: 100 };
  return serving(upgrading(websocket), async (server) => {
    for (const [bytes, code] of [
      [Buffer.from([0x81, 0x01, 0x61]), 1002],
      [frame(1, Buffer.from([0xff])), 1007],
      [Buffer.concat([Buffer.from([0x81, 0xfe, 0, 126, 0, 0, 0, 0]), Buffer.alloc(126)]), 1009],
    ]) {
      const client = await raw(server);
      client.socket.write(bytes);
      await until(() => client.bytes().length >= 4, "a close frame");
      assert.deepEqual([client.bytes()[0], client.bytes().readUInt16BE(2)], [0x88, code]);
      client.socket.end();
      await until(() => closed.at(-1) === code, "close");
    }
  });
});

test("websocket: pings and pongs", () => {
  const seen = [];
  const websocket = {
    message(ws) { ws.ping("server"); },
    ping(_, data) { seen.push(["ping", data.toString()]); },
    pong(_, data) { seen.push(["pong", data.toString()]); },
  };
  return serving(upgrading(websocket), async (server) => {
    const client = await raw(server);
    client.socket.write(Buffer.concat([frame(9, "client"), frame(1, "x"), frame(10, "back")]));
    await until(() => client.bytes().includes("server"), "a ping");
    assert.ok(client.bytes().includes(Buffer.from("\x8a\x06client", "latin1")));
    await until(() => seen.length === 2, "a pong");
    assert.deepEqual(seen, [["ping", "client"], ["pong", "back"]]);
  });
});

test("websocket: silent clients are asked, and closed", () => {
  const closed = [];
  const websocket = { message() {}, close: (_, code) => closed.push(code), idleTimeout: 0.2 };
  return serving(upgrading(websocket), async (server) => {
    const client = await raw(server);
    await until(() => closed.length === 0 && client.bytes().includes(Buffer.from([0x89, 0])), "a ping");
    await until(() => client.bytes().includes(Buffer.from([0x03, 0xe9])), "a close frame");
    client.socket.write(frame(8));
    await until(() => closed.length === 1, "close");
  });
});

test("websocket: a client that takes nothing is not told of its end", () => {
  const closed = [];
  const websocket = {
    open(ws) { while (ws.send(new Uint8Array(64 * 1024)) > 0); },
    message() {},
    close: (_, code) => closed.push(code),
    backpressureLimit: 16 * 1024 * 1024,
    idleTimeout: 0.3,
  };
  return serving(upgrading(websocket), async (server) => {
    const client = await raw(server);
    client.socket.pause();
    await until(() => closed.length === 1, "close");
    assert.deepEqual(closed, [1006]);
  });
});

for (const closes of [false, true]) {
  test(`websocket: a client that does not read, closeOnBackpressureLimit ${closes}`, () => {
    let socket;
    let isDrained = false;
    let code;
    const websocket = {
      open(ws) { socket = ws; },
      message() {},
      drain() { isDrained = true; },
      close(_, given) { code = given; },
      backpressureLimit: 1024 * 1024,
      closeOnBackpressureLimit: closes,
    };
    return serving(upgrading(websocket), async (server) => {
      const client = await raw(server);
      client.socket.pause();
      await until(() => socket, "open");
      const piece = new Uint8Array(64 * 1024);
      const fates = new Set();
      await until(() => {
        const fate = socket.send(piece);
        fates.add(fate);
        return fate === 0;
      }, "a message that is dropped");
      assert.deepEqual([...fates], [64 * 1024, -1, 0]);
      assert.equal(socket.readyState, 1);
      assert.ok(socket.getBufferedAmount() <= 1024 * 1024 + 100);
      client.socket.resume();
      if (closes) {
        await until(() => client.bytes().includes(Buffer.from([0x03, 0xf5])), "close frame 1013");
        client.socket.write(frame(8));
        await until(() => code !== undefined, "close");
      } else {
        await until(() => isDrained, "drain");
        assert.equal(socket.getBufferedAmount(), 0);
        assert.ok(socket.send("again") > 0);
      }
    });
  });
}

test("websocket: of the pings of one piece few are answered, and the program sees all", () => {
  let pings = 0;
  const websocket = { message: (ws, text) => { ws.send(text); }, ping() { pings += 1; } };
  return serving(upgrading(websocket), async (server) => {
    const client = await raw(server);
    const many = Array.from({ length: 500 }, () => frame(9, "p"));
    client.socket.write(Buffer.concat([...many, frame(1, "end")]));
    await until(() => client.bytes().includes("end"), "the answer behind the pings");
    assert.equal(pings, 500);
    // 3 bytes each; the piece may arrive in a few.
    assert.ok(client.bytes().length < 100 * 3, `${client.bytes().length} bytes`);
    client.socket.write(frame(9, "last"));
    await until(() => client.bytes().includes("last"), "a pong");
  });
});

for (const opcode of [9, 10]) {
  test(`websocket: a flood of frames ${opcode} is closed`, () => {
    let closed;
    const websocket = { message() {}, close(_, code) { closed = code; } };
    return serving(upgrading(websocket), async (server) => {
      const client = await raw(server);
      client.socket.write(Buffer.concat(Array.from({ length: 20_000 }, () => frame(opcode))));
      await until(() => client.bytes().includes("pings and pongs"), "a close frame");
      assert.ok(client.bytes().includes(Buffer.from([0x03, 0xf0])), "1008");
      client.socket.write(frame(8));
      await until(() => client.isOver() && closed, "the end");
      assert.equal(closed, 1008);
    });
  });
}

test("websocket: compressed messages", () => {
  const text = "a text that repeats itself, ".repeat(100);
  const websocket = { message: (ws, message) => { ws.send(message, true); }, perMessageDeflate: true };
  return serving(upgrading(websocket), async (server) => {
    const client = await raw(server, "Sec-WebSocket-Extensions: permessage-deflate\r\n");
    assert.match(client.head, /sec-websocket-extensions: permessage-deflate/i);
    client.socket.write(frame(1, "y".repeat(100)));
    await until(() => client.bytes().length > 0, "a message");
    assert.equal(client.bytes()[0], 0xc1);
    assert.ok(client.bytes().length < 50);
    const other = await connect(server);
    other.send(text);
    assert.equal(await other.receive(), text);
  });
});

test("websocket: handlers that fail are reported, and the socket goes on", (reports) => {
  const websocket = {
    message(ws, message) {
      if (message === "throw") throw new Error("thrown");
      if (message === "reject") return Promise.reject(new Error("rejected"));
      return ws.send(message);
    },
  };
  return serving(upgrading(websocket), async (server) => {
    const client = await connect(server);
    for (const message of ["throw", "reject", "on"]) client.send(message);
    assert.equal(await client.receive(), "on");
    await until(() => reports.length === 2, "both reports");
    assert.match(reports[0][0], /WebSocket \(message\)/);
    assert.deepEqual(reports.map(([, error]) => error.message), ["thrown", "rejected"]);
  });
});

test("websocket: a server that stops closes its sockets", async () => {
  const closed = [];
  const websocket = { message() {}, close: (_, code) => closed.push(code) };
  const server = serve({ port: 0, hostname: "127.0.0.1", ...upgrading(websocket) });
  const client = await connect(server);
  const stopped = server.stop();
  assert.equal((await client.closed).code, 1001);
  await stopped;
  assert.equal(closed.length, 1);
  const second = serve({ port: 0, hostname: "127.0.0.1", ...upgrading(websocket) });
  const other = await connect(second);
  await second.stop(true);
  assert.equal((await other.closed).code, 1006);
  assert.deepEqual(closed.slice(1), [1006]);
});

test("websocket: reload changes the handlers of sockets that are open", () => {
  const answering = (text) => ({ message: (ws) => { ws.send(text); } });
  return serving(upgrading(answering("first")), async (server) => {
    const client = await connect(server);
    client.send("x");
    assert.equal(await client.receive(), "first");
    server.reload({ websocket: answering("second") });
    client.send("x");
    assert.equal(await client.receive(), "second");
  });
});

test("websocket: binaryType", () => {
  const seen = [];
  const websocket = {
    message(ws, message) {
      seen.push(Object.prototype.toString.call(message) + Buffer.isBuffer(message));
      ws.binaryType = ["uint8array", "arraybuffer", "nodebuffer"][seen.length - 1];
      assert.equal(ws.cork((same) => same === ws), true);
      assert.throws(() => { ws.binaryType = "blob"; }, /binaryType is one of/);
      assert.throws(() => ws.send({}), /send takes a string/);
      assert.throws(() => ws.close(1005), /a close code is/);
      ws.sendBinary(new Uint8Array([1]));
    },
  };
  return serving(upgrading(websocket), async (server) => {
    const client = await connect(server);
    for (let index = 0; index < 3; index++) {
      client.send(new Uint8Array([1]));
      assert.deepEqual(await client.receive(), [1]);
    }
    assert.deepEqual(seen, ["[object Uint8Array]true", "[object Uint8Array]false", "[object ArrayBuffer]false"]);
  });
});

test("websocket: options that cannot be used are refused", () => {
  const refused = (websocket, text) => assert.throws(() => serve({ port: 0, fetch: () => "", websocket }), text);
  refused({}, /websocket needs a function message/);
  refused("yes", /websocket must be an object of handlers/);
  refused({ message: 1 }, /websocket\.message must be a function/);
  refused({ message() {}, opened() {} }, /websocket has no "opened"; it has open, message/);
  refused({ message() {}, maxPayloadLength: 0 }, /websocket\.maxPayloadLength must be a number of bytes/);
  const payload = Math.min(constants.MAX_STRING_LENGTH, 0x7fffffff);
  refused({ message() {}, maxPayloadLength: payload + 1 }, new RegExp(`maxPayloadLength must be a number of bytes from 1 to ${payload}`));
  refused({ message() {}, backpressureLimit: 2 ** 31 }, /backpressureLimit must be a number of bytes from 1 to 2147483647/);
  refused({ message() {}, idleTimeout: -1 }, /websocket\.idleTimeout must be a number of seconds/);
  refused({ message() {}, sendPings: 1 }, /websocket\.sendPings must be true or false/);
  refused({ message() {}, perMessageDeflate: { compress: "dedicated" } }, /no window is kept between messages/);
  return serving({ fetch: (request, server) => `${server.upgrade(request)}` }, async (server) => {
    assert.equal((await ask(server, "/")).status, 500);
  });
});

test("websocket: a text that cannot be made is a fault of its event", () => {
  const reports = [];
  const [placed, serial, opens, text] = [0, 1, 0, 1];
  const events = [[opens, placed, serial, 0, 0, 0], [text, placed, serial, 0, -1, 0]];
  const native = {
    setSockets() {},
    upgrade: () => [placed, serial],
    takeSocketEvents: (_, numbers) => {
      numbers.set(events.flat());
      return events.length;
    },
    takeSocketPayload: () => ({ get buffer() { throw new RangeError("too long"); } }),
  };
  const server = { native, id: 1, isRunning: true, requestIP() {}, signals: { take() {} }, report: (name, error) => reports.push([name, error.message]) };
  const sockets = new Sockets(server);
  const seen = [];
  const handlers = { open: () => seen.push("open"), message: () => seen.push("message") };
  sockets.configure({ handlers });
  assert.equal(sockets.upgrade({}, { place: placed, serial }), true);
  assert.equal(sockets.takeEvents(), true);
  assert.deepEqual([seen, reports], [["open"], [["WebSocket (message)", "too long"]]]);
});
