"use strict";
// The WebSockets of a server, and the events that native code has for them.

const { headerLines } = require("../wire.cjs");
const { ServerWebSocket, messageOf, topicOf } = require("./socket.cjs");

const EVENT = 6;
const EVENTS_MAX = 256;
const EVENT_BYTES = 256 * 1024;

const [OPEN, TEXT, BYTES, DRAIN, PING, PONG, CLOSE] = [0, 1, 2, 3, 4, 5, 6];

/** The sockets of one server. */
class Sockets {
  #server;
  #checked;
  /** By serial number: a place is taken over before all events of the socket that had it are told. `isOpen` once `open` has run. */
  #open = new Map();
  #numbers;
  #bytes;

  constructor(server) {
    this.#server = server;
  }

  /** Puts handlers and settings in place: those for sockets to come, these for all. */
  configure(checked) {
    this.#checked = checked;
    if (checked === undefined) return;
    this.#numbers ??= new Int32Array(EVENTS_MAX * EVENT);
    this.#bytes ??= Buffer.from(new ArrayBuffer(EVENT_BYTES));
    const { maxPayload, backpressure, closes, idleMillis, sendsPings, compress, toSelf } = checked;
    this.call("setSockets", maxPayload, backpressure, closes, idleMillis, sendsPings, compress, toSelf);
  }

  call(name, ...args) {
    const { native, id, isOver } = this.#server;
    return isOver ? undefined : native[name](id, ...args);
  }

  /** Calls what leads to bytes for a client, which leave with the next turn. */
  write(name, ...args) {
    const result = this.call(name, ...args) ?? 0;
    if (!this.#server.isRunning) this.#server.schedule();
    return result;
  }

  /** Answers a request by a WebSocket. False if it asks for none, or is over. */
  upgrade(request, { place, serial }, options = {}) {
    if (this.#checked === undefined) throw new TypeError("server.upgrade: give serve the option websocket: { message(ws, message) { ... } }");
    if (typeof options !== "object" || options === null) throw new TypeError("server.upgrade takes options: { data, headers }");
    for (const name of Object.keys(options)) {
      if (name !== "data" && name !== "headers") throw new TypeError(`server.upgrade has no option ${JSON.stringify(name)}; it has data, headers`);
    }
    const given = options.headers === undefined ? [] : [...new Headers(options.headers)];
    const lines = headerLines(given).lines;
    const ownProtocol = given.some(([name]) => name === "sec-websocket-protocol");
    const address = this.#server.requestIP(request)?.address ?? "";
    const key = this.call("upgrade", place, serial, lines, ownProtocol);
    if (key === undefined) return false;
    this.#server.signals.take(place, serial);
    this.#open.set(key[1], { place: key[0], isOpen: false, socket: new ServerWebSocket(this, key, options.data, address) });
    if (!this.#server.isRunning) this.#server.schedule();
    return true;
  }

  /** Runs handlers for what has come. Returns whether there was anything. */
  takeEvents() {
    if (this.#checked === undefined) return false;
    const [numbers, bytes] = [this.#numbers, this.#bytes];
    const count = this.call("takeSocketEvents", numbers, bytes);
    for (let at = 0; at < count * EVENT; at += EVENT) {
      const from = numbers[at + 3];
      const length = numbers[at + 4];
      const payload = length < 0 ? this.call("takeSocketPayload") : bytes.subarray(from, from + length);
      this.#take(numbers[at], numbers[at + 1], numbers[at + 2], payload, numbers[at + 5]);
    }
    return count > 0;
  }

  #take(kind, place, serial, payload, code) {
    const entry = this.#open.get(serial);
    if (entry === undefined || entry.place !== place) return;
    const { socket } = entry;
    const text = () => Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString("utf8");
    // The memory is that of the next batch too.
    const copy = () => ServerWebSocket.bytes(socket, new Uint8Array(payload));
    if (kind === CLOSE) {
      this.#open.delete(serial);
      ServerWebSocket.end(socket);
      if (entry.isOpen) this.#run("close", () => [socket, code, text()]);
    } else if (kind === OPEN) {
      entry.isOpen = true;
      this.#run("open", () => [socket]);
    } else if (kind === TEXT) this.#run("message", () => [socket, text()]);
    else if (kind === BYTES) this.#run("message", () => [socket, copy()]);
    else if (kind === DRAIN) this.#run("drain", () => [socket]);
    else if (kind === PING) this.#run("ping", () => [socket, copy()]);
    else if (kind === PONG) this.#run("pong", () => [socket, copy()]);
  }

  /** Calls a handler. `args` makes its arguments: memory for them may be missing, which must not end the program. */
  #run(name, args) {
    const handler = this.#checked?.handlers[name];
    if (handler === undefined) return;
    const server = this.#server;
    const failed = (error) => server.report(`WebSocket (${name})`, error);
    try {
      const value = handler(...args());
      if (typeof value?.then === "function") {
        server.waits = true;
        value.then(undefined, failed);
      }
    } catch (error) {
      failed(error);
    }
  }

  /** Sends a message to all subscribers of a topic. */
  publish(topic, data, compress = false) {
    return this.write("socketPublish", -1, 0, topicOf(topic), messageOf(data, "publish"), compress === true);
  }

  subscriberCount(topic) {
    return this.call("subscriberCount", topicOf(topic)) ?? 0;
  }

  get count() {
    return this.call("pendingSockets") ?? 0;
  }

  /** The server has ended: handlers are told of what ended with it. */
  leaveAll() {
    if (this.#checked === undefined) return;
    for (const [serial, { place }] of [...this.#open]) this.#take(CLOSE, place, serial, new Uint8Array(0), 1006);
  }
}

module.exports = { Sockets };
