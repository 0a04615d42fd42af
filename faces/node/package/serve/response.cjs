"use strict";
// `Response` as handlers make it: what it was made with, until something needs the platform's own.

const PlatformResponse = require("./globals.cjs").platform("Response");

/** What an answer is made of, where nobody has asked for more: see `plain`. */
const plain = Symbol("plain");
const platform = Symbol("platform");

const STATUSES_WITHOUT_BODY = new Set([101, 103, 204, 205, 304]);

class Response {
  #body;
  #status;
  #init;
  /** 1 where the body is JSON that `Response.json` made. */
  #isJson = false;
  #platform;

  constructor(body, init) {
    const status = init?.status;
    if (status !== undefined) {
      if (!(status >= 200 && status <= 599) && status !== 101) {
        throw new RangeError(`The status provided (${status}) must be 101 or in the range [200, 599]`);
      }
      if (body != null && STATUSES_WITHOUT_BODY.has(status)) {
        throw new TypeError(`Response constructor: Invalid response status code ${status}`);
      }
      this.#status = status | 0;
    } else {
      this.#status = 200;
    }
    this.#body = body;
    this.#init = init;
    // What is not text or nothing has rules of its own, which the platform knows; bytes may change later, so they are taken now.
    if (body != null && typeof body !== "string") {
      this.#platform = new PlatformResponse(body, init);
    } else if (init?.headers !== undefined && typeof init.headers !== "object") {
      this.#platform = new PlatformResponse(body, init);
    }
  }

  static json(data, init) {
    const text = JSON.stringify(data);
    if (text === undefined) throw new TypeError("Response.json: the value is not JSON");
    const response = new Response(text, init);
    response.#isJson = true;
    return response;
  }

  static redirect(url, status = 302) {
    return PlatformResponse.redirect(url, status);
  }

  static error() {
    return PlatformResponse.error();
  }

  static [Symbol.hasInstance](value) {
    return value instanceof PlatformResponse;
  }

  /** Status, headers as they were given, text, and whether that is JSON; nothing if only the platform knows. */
  [plain](take, place, serial) {
    if (this.#platform !== undefined) return false;
    take(place, serial, this.#status, this.#init?.headers, this.#body ?? "", this.#body == null, this.#isJson);
    return true;
  }

  [platform]() {
    if (this.#platform === undefined) {
      let init = this.#init;
      if (this.#isJson) {
        const headers = new Headers(init?.headers);
        if (!headers.has("content-type")) headers.set("content-type", "application/json");
        init = { ...init, headers };
      }
      this.#platform = new PlatformResponse(this.#body, init);
    }
    return this.#platform;
  }

  get status() { return this.#platform === undefined ? this.#status : this.#platform.status; }
  get ok() { return this.status >= 200 && this.status <= 299; }
  get statusText() { return this.#init?.statusText ?? ""; }
  get headers() { return this[platform]().headers; }
  get body() { return this.#body == null && this.#platform === undefined ? null : this[platform]().body; }
  get bodyUsed() { return this.#platform === undefined ? false : this.#platform.bodyUsed; }
  get redirected() { return false; }
  get type() { return "default"; }
  get url() { return ""; }
  clone() { return this[platform]().clone(); }
  text() { return this[platform]().text(); }
  json() { return this[platform]().json(); }
  arrayBuffer() { return this[platform]().arrayBuffer(); }
  async bytes() { return new Uint8Array(await this[platform]().arrayBuffer()); }
  blob() { return this[platform]().blob(); }
  formData() { return this[platform]().formData(); }
  get [Symbol.toStringTag]() { return "Response"; }
}

Object.setPrototypeOf(Response, PlatformResponse);
Object.setPrototypeOf(Response.prototype, PlatformResponse.prototype);

module.exports = { Response, PlatformResponse, plain, platform };
