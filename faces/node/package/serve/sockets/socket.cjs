"use strict";
// The objects that handlers of WebSockets get.

const { shown } = require("../options.cjs");
const { showAs } = require("../inspect.cjs");

/** Types that `ws.binaryType` may have. */
const BINARY_TYPES = ["nodebuffer", "uint8array", "arraybuffer"];

/** A message for native code: a string, or a `Uint8Array` of its bytes. */
function messageOf(data, name) {
  if (typeof data === "string" || data instanceof Uint8Array) return data;
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer || (typeof SharedArrayBuffer !== "undefined" && data instanceof SharedArrayBuffer)) return new Uint8Array(data);
  throw new TypeError(`${name} takes a string, an ArrayBuffer or a typed array, not ${shown(data)}`);
}

function textOnly(data, name) {
  if (typeof data !== "string") throw new TypeError(`${name} takes a string, not ${shown(data)}`);
  return data;
}

function binaryOnly(data, name) {
  if (typeof data === "string") throw new TypeError(`${name} takes an ArrayBuffer or a typed array, not a string`);
  return messageOf(data, name);
}

function topicOf(topic) {
  if (typeof topic !== "string" || topic === "") throw new TypeError(`a topic is a string that is not empty, not ${shown(topic)}`);
  return topic;
}

/** The code that `close` may send (RFC 6455, 7.4). */
function codeOf(code = 1000) {
  const mayBeSent = (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
  if (!Number.isInteger(code) || !mayBeSent) throw new RangeError(`a close code is 1000 to 1003, 1007 to 1014, or 3000 to 4999, not ${shown(code)}`);
  return code;
}

/** A WebSocket as handlers see it, in the form of Bun's `ServerWebSocket`. */
class ServerWebSocket {
  #sockets;
  #place;
  #serial;
  #binaryType = "nodebuffer";
  #stage = 1;

  constructor(sockets, [place, serial], data, remoteAddress) {
    this.#sockets = sockets;
    this.#place = place;
    this.#serial = serial;
    this.data = data;
    this.remoteAddress = remoteAddress;
  }

  /** 1 open, 2 closing, 3 closed. */
  get readyState() {
    return this.#stage;
  }

  get binaryType() {
    return this.#binaryType;
  }

  set binaryType(type) {
    if (!BINARY_TYPES.includes(type)) throw new TypeError(`binaryType is one of ${BINARY_TYPES.join(", ")}, not ${shown(type)}`);
    this.#binaryType = type;
  }

  get subscriptions() {
    return this.#stage === 3 ? [] : this.#sockets.call("socketTopics", this.#place, this.#serial);
  }

  send(data, compress = false) {
    return this.#send(messageOf(data, "send"), compress);
  }

  sendText(data, compress = false) {
    return this.#send(textOnly(data, "sendText"), compress);
  }

  sendBinary(data, compress = false) {
    return this.#send(binaryOnly(data, "sendBinary"), compress);
  }

  #send(message, compress) {
    if (this.#stage !== 1) return 0;
    return this.#sockets.write("socketSend", this.#place, this.#serial, message, compress === true);
  }

  ping(data = "") {
    if (this.#stage !== 1) return 0;
    return this.#sockets.write("socketControl", this.#place, this.#serial, false, messageOf(data, "ping"));
  }

  pong(data = "") {
    if (this.#stage !== 1) return 0;
    return this.#sockets.write("socketControl", this.#place, this.#serial, true, messageOf(data, "pong"));
  }

  close(code, reason = "") {
    const checked = codeOf(code);
    if (typeof reason !== "string" || Buffer.byteLength(reason) > 123) throw new TypeError("the reason for closing is a string of at most 123 bytes");
    if (this.#stage !== 1) return;
    this.#stage = 2;
    this.#sockets.write("socketClose", this.#place, this.#serial, checked, reason);
  }

  terminate() {
    if (this.#stage === 3) return;
    this.#stage = 2;
    this.#sockets.write("socketTerminate", this.#place, this.#serial);
  }

  subscribe(topic) {
    this.#topic(topic, 1);
  }

  unsubscribe(topic) {
    this.#topic(topic, 0);
  }

  isSubscribed(topic) {
    return this.#topic(topic, 2);
  }

  #topic(topic, what) {
    const name = topicOf(topic);
    return this.#stage !== 3 && this.#sockets.call("socketTopic", this.#place, this.#serial, name, what);
  }

  publish(topic, data, compress = false) {
    return this.#publish(topic, messageOf(data, "publish"), compress);
  }

  publishText(topic, data, compress = false) {
    return this.#publish(topic, textOnly(data, "publishText"), compress);
  }

  publishBinary(topic, data, compress = false) {
    return this.#publish(topic, binaryOnly(data, "publishBinary"), compress);
  }

  #publish(topic, message, compress) {
    const name = topicOf(topic);
    if (this.#stage !== 1) return 0;
    return this.#sockets.write("socketPublish", this.#place, this.#serial, name, message, compress === true);
  }

  /** Runs a function. All that is sent in one turn of the program is written at once, with it or without. */
  cork(run) {
    return run(this);
  }

  /** The bytes that wait for the client. */
  getBufferedAmount() {
    return this.#stage === 3 ? 0 : this.#sockets.call("socketBuffered", this.#place, this.#serial);
  }

  /** Called by the registry alone: the socket has ended. */
  static end(socket) {
    socket.#stage = 3;
  }

  /** Bytes in the form that the program wants them. */
  static bytes(socket, bytes) {
    if (socket.#binaryType === "arraybuffer") return bytes.buffer;
    return socket.#binaryType === "uint8array" ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
}

showAs(ServerWebSocket.prototype, "ServerWebSocket", ({ readyState, remoteAddress, data }) => ({ readyState, remoteAddress, data }));

module.exports = { ServerWebSocket, messageOf, topicOf };
