"use strict";
// What the tests of `serve` share. They run in Node.js and in Bun: `node cases.cjs [part of a name]`.

const net = require("node:net");
const { makeServe, Response, Request } = require("../../package/serve/serve.cjs");

const native = require(process.env.SAMPAN_ADDON);
const serve = makeServe(native);
const isBun = typeof Bun !== "undefined";

const cases = [];
function test(name, body) {
  cases.push({ name, body });
}

const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));

/** Serves while `body` runs. */
async function serving(options, body) {
  const server = serve({ port: 0, hostname: "127.0.0.1", ...options });
  try {
    return await body(server);
  } finally {
    await server.stop(true);
  }
}

/** Sends bytes on a connection of its own, and gives all that comes until the server closes, or until `until` is in it. */
function exchange(server, bytes, until) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(server.port, "127.0.0.1");
    let text = "";
    const end = () => {
      socket.destroy();
      resolve(text);
    };
    socket.setTimeout(10_000, () => {
      socket.destroy();
      reject(new Error(`nothing more came after ${JSON.stringify(text)}`));
    });
    socket.on("error", (error) => (text === "" ? reject(error) : end()));
    socket.on("close", end);
    socket.on("data", (data) => {
      text += data.toString("latin1");
      if (until !== undefined && text.includes(until)) end();
    });
    for (const part of Array.isArray(bytes) ? bytes : [bytes]) socket.write(part);
  });
}

/** A request of its own connection: status, head and body. */
async function ask(server, target, { method = "GET", headers = "", body = "" } = {}) {
  const length = body === "" ? "" : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  const text = await exchange(
    server,
    `${method} ${target} HTTP/1.1\r\nHost: localhost:1\r\nConnection: close\r\n${length}${headers}\r\n${body}`,
  );
  const at = text.indexOf("\r\n\r\n");
  return {
    status: Number(text.slice(9, 12)),
    head: text.slice(0, at),
    body: Buffer.from(text.slice(at + 4), "latin1").toString("utf8"),
  };
}

/** Keeps `count` connections busy with a request until the returned function is called, which tells how many answers there were. */
function load(server, target, count) {
  let answers = 0;
  let isOver = false;
  const sockets = [];
  for (let n = 0; n < count; n++) {
    const socket = net.connect(server.port, "127.0.0.1");
    const send = () => socket.write(`GET ${target} HTTP/1.1\r\nHost: h\r\n\r\n`);
    socket.on("connect", send);
    socket.on("error", () => {});
    socket.on("data", () => {
      answers++;
      if (!isOver) send();
    });
    sockets.push(socket);
  }
  return () => {
    isOver = true;
    for (const socket of sockets) socket.destroy();
    return answers;
  };
}

async function run() {
  const wanted = process.argv[2] ?? "";
  let failed = 0;
  const muted = console.error;
  for (const { name, body } of cases) {
    if (!name.includes(wanted)) continue;
    const reports = [];
    console.error = (...args) => reports.push(args);
    try {
      await body(reports);
      console.log(`ok ${name}`);
    } catch (error) {
      failed++;
      console.log(`FAILED ${name}: ${error?.stack ?? error}`);
    } finally {
      console.error = muted;
    }
  }
  console.log(`${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

module.exports = { test, run, serve, serving, exchange, ask, load, sleep, isBun, native, Response, Request };
