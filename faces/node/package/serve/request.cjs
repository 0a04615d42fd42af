"use strict";
// The request that handlers get: a `Request` for all purposes, whose parts are read when somebody asks for them.

const { METHODS, textOf, readUtf8 } = require("./wire.cjs");
const { RequestHeaders } = require("./headers.cjs");
const { aborted } = require("./clients.cjs");
const { showAs, shownHeaders } = require("./inspect.cjs");

const PlatformRequest = require("./globals.cjs").platform("Request");
const OVER = "the request is over: it was answered, or its client has left";
const NO_PARAMS = Object.freeze({});

/** The platform's request behind ours; made once. */
const platform = Symbol("platform");
/** Copies method and target, before the next batch takes the memory. */
const head = Symbol("head");
/** Takes up the stream that answers the request. */
const streamed = Symbol("streamed");
/** Method and path, as messages name a request. */
const title = Symbol("title");

class ServedRequest {
  #server;
  #wire;
  #batch;
  #at;
  #names;
  #target;
  #host;
  #method;
  #headers;
  #params;
  #bytes;
  #isUsed = false;
  #signal;
  #stream;
  #platform;

  constructor(server, at, names) {
    const { wire } = server;
    this.#server = server;
    this.#wire = wire;
    this.#batch = wire.batch;
    this.#at = at;
    this.#names = names;
    this.place = wire.numbers[at];
    this.serial = wire.numbers[at + 1];
  }

  /** Copies what a handler that waits may still ask for, before the next batch takes the memory. */
  keep() {
    const { numbers } = this.#wire;
    try {
      this.#readHead();
      // Also those that the batch had no room for: native code forgets them with the answer.
      if (this.#names.length > 0) this.params;
      if (!this.#isUsed && this.#bytes === undefined && numbers[this.#at + 7] > 0) this.#bytes = this.#readBytes();
    } catch {
      // A handler that has called `upgrade` has answered: native code has the rest no more.
    }
  }

  /** Copies what the source of a stream may still ask for, before native code forgets the request. */
  keepForStream() {
    try {
      this.params;
      RequestHeaders.keep(this.headers);
      if (!this.#isUsed) this.#readBytes();
    } catch {
      // Its client has left.
    }
  }

  [streamed](stream) {
    this.#stream = stream;
  }

  #isHere() {
    return this.#wire.batch === this.#batch;
  }

  #readHead() {
    if (this.#target !== undefined) return;
    const { native, id } = this.#wire;
    if (this.#isHere()) {
      const { numbers, bytes } = this.#wire;
      const at = numbers[this.#at + 4];
      const end = at + Math.abs(numbers[this.#at + 5]);
      this.#target = textOf(bytes, at, end - at);
      this.#host = textOf(bytes, end, numbers[this.#at + 19]);
      this.#method = METHODS[numbers[this.#at + 3]] ?? native.method(id, this.place, this.serial);
    } else {
      this.#target = native.target(id, this.place, this.serial);
      this.#host = native.host(id, this.place, this.serial);
      this.#method = native.method(id, this.place, this.serial);
    }
  }

  [head]() {
    this.#readHead();
  }

  get [title]() {
    try {
      this.#readHead();
      return `${this.#method} ${this.#target.split("?", 1)[0]}`;
    } catch {
      return "a request that is over";
    }
  }

  get method() {
    if (this.#method === undefined && this.#isHere()) {
      this.#method = METHODS[this.#wire.numbers[this.#at + 3]];
    }
    if (this.#method === undefined) this.#readHead();
    return this.#method;
  }

  get url() {
    this.#readHead();
    const { protocol } = this.#server;
    if (!this.#target.startsWith("/")) return this.#target === "*" ? `${protocol}://${this.#host}/` : this.#target;
    return `${protocol}://${this.#host || this.#server.authority}${this.#target}`;
  }

  /** The parameters of the route's pattern, decoded. */
  get params() {
    if (this.#params !== undefined) return this.#params;
    const names = this.#names;
    if (names.length === 0) return (this.#params = NO_PARAMS);
    const params = {};
    const { numbers, bytes, native, id } = this.#wire;
    const inline = this.#isHere() ? numbers[this.#at + 8] : 0;
    for (let index = 0; index < names.length; index++) {
      const at = this.#at + 9 + 2 * index;
      params[names[index]] = index < inline
        ? textOf(bytes, numbers[at], numbers[at + 1])
        : native.param(id, this.place, this.serial, index);
    }
    return (this.#params = params);
  }

  // Routers put their own there.
  set params(value) {
    this.#params = value;
  }

  get headers() {
    return (this.#headers ??= new RequestHeaders(this));
  }

  nativeHeaders() {
    return this.#wire.native.headers(this.#wire.id, this.place, this.serial);
  }

  nativeHeader(name) {
    return this.#wire.native.header(this.#wire.id, this.place, this.serial, name);
  }

  #hasBody() {
    return this.#isHere() ? this.#wire.numbers[this.#at + 7] > 0 : this.#readBytes().byteLength > 0;
  }

  #readBytes() {
    if (this.#bytes !== undefined) return this.#bytes;
    const { numbers, bytes, native, id } = this.#wire;
    if (this.#isHere() && numbers[this.#at + 6] >= 0) {
      const at = numbers[this.#at + 6];
      return (this.#bytes = Uint8Array.prototype.slice.call(bytes, at, at + numbers[this.#at + 7]));
    }
    return (this.#bytes = native.body(id, this.place, this.serial));
  }

  #use() {
    if (this.#isUsed) throw new TypeError("Body is unusable: Body has already been read");
    this.#isUsed = true;
  }

  #text() {
    this.#use();
    const { numbers, bytes } = this.#wire;
    let text;
    if (this.#bytes === undefined && this.#isHere() && numbers[this.#at + 6] >= 0) {
      const at = numbers[this.#at + 6];
      text = textOf(bytes, at, numbers[this.#at + 18] === 0 ? numbers[this.#at + 7] : -numbers[this.#at + 7]);
    } else {
      const all = this.#readBytes();
      text = readUtf8.call(Buffer.from(all.buffer, all.byteOffset, all.byteLength), 0, all.byteLength);
    }
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }

  // These fail by a promise, as the platform's do.
  async text() {
    return this.#platform === undefined ? this.#text() : this.#platform.text();
  }

  async json() {
    try {
      return this.#platform === undefined ? JSON.parse(this.#text()) : await this.#platform.json();
    } catch (error) {
      // The client's fault: where nobody catches it, the answer is 400.
      if (error instanceof SyntaxError) error.status = 400;
      throw error;
    }
  }

  async bytes() {
    if (this.#platform !== undefined) return new Uint8Array(await this.#platform.arrayBuffer());
    this.#use();
    return this.#readBytes();
  }

  async arrayBuffer() {
    if (this.#platform !== undefined) return this.#platform.arrayBuffer();
    this.#use();
    return this.#readBytes().buffer;
  }

  async blob() { return this[platform]().blob(); }
  async formData() { return this[platform]().formData(); }
  clone() { return this[platform]().clone(); }

  get body() {
    if (this.#platform === undefined && !this.#hasBody()) return null;
    return this[platform]().body;
  }

  get bodyUsed() {
    return this.#platform === undefined ? this.#isUsed : this.#platform.bodyUsed;
  }

  #isOpen() {
    if (this.#isHere()) return true;
    try {
      return this.#wire.native.method(this.#wire.id, this.place, this.serial) !== undefined;
    } catch {
      return false;
    }
  }

  get signal() {
    return (this.#signal ??= this.#madeSignal());
  }

  #madeSignal() {
    const stream = this.#stream;
    if (stream === undefined ? this.#isOpen() : !stream.isOver) return stream?.signal ?? this.#server.signals.of(this.place, this.serial);
    return AbortSignal.abort(aborted(OVER));
  }

  [platform]() {
    if (this.#platform === undefined) {
      const hasBody = this.method !== "GET" && this.method !== "HEAD" && this.#hasBody();
      const headers = [...this.headers];
      this.#platform = new PlatformRequest(this.url, {
        method: this.method,
        headers,
        body: hasBody ? this.#readBytes() : undefined,
        signal: this.signal,
      });
      // What was read before cannot be read again.
      if (this.#isUsed) this.#platform.arrayBuffer().catch(() => {});
    }
    return this.#platform;
  }

  get cache() { return "default"; }
  get credentials() { return "same-origin"; }
  get destination() { return ""; }
  get integrity() { return ""; }
  get keepalive() { return false; }
  get mode() { return "cors"; }
  get redirect() { return "follow"; }
  get referrer() { return "about:client"; }
  get referrerPolicy() { return ""; }
  get duplex() { return "half"; }
  get [Symbol.toStringTag]() { return "Request"; }
}

showAs(ServedRequest.prototype, "Request", (request) => {
  try {
    const { method, url, params } = request;
    const shown = { method, url, headers: shownHeaders(() => request.headers) };
    return params === NO_PARAMS ? shown : { ...shown, params: { ...params } };
  } catch (error) {
    return { error: error.message };
  }
});
Object.setPrototypeOf(ServedRequest.prototype, PlatformRequest.prototype);

/** `Request`, whose constructor also takes a request that was served. */
class Request extends PlatformRequest {
  constructor(input, init) {
    super(input instanceof ServedRequest ? input[platform]() : input, init);
  }

  static [Symbol.hasInstance](value) {
    // Subclasses inherit this function.
    return this === Request ? value instanceof PlatformRequest : Function.prototype[Symbol.hasInstance].call(this, value);
  }
}

module.exports = { ServedRequest, Request, head, streamed, title };
