"use strict";
// `Response` as handlers make it: what it was made with, until something needs the platform's own.

const PlatformResponse = require("./globals.cjs").platform("Response");
const { showAs, shownHeaders } = require("./inspect.cjs");
const { headerLines, headersOf } = require("./wire.cjs");

/** What an answer is made of, where nobody has asked for more: see `plain`. */
const plain = Symbol("plain");
const platform = Symbol("platform");

const STATUSES_WITHOUT_BODY = new Set([204, 205, 304]);
const REDIRECTIONS = [301, 302, 303, 307, 308];

/** A reason phrase (RFC 9112, 4). */
const A_REASON = /^[\t\x20-\x7e\x80-\xff]*$/;

class Response {
  #body;
  #status;
  #statusText = "";
  /** The header fields as `headerLines` gives them: what happens to the object that they came from is none of ours. */
  #fields;
  /** 1 where the body is JSON that `Response.json` made. */
  #isJson = false;
  #platform;

  constructor(body, init) {
    const status = init?.status;
    if (status !== undefined) {
      if (!(status >= 200 && status <= 599)) throw new RangeError(`Response: the status (${status}) must be from 200 to 599`);
      if (body != null && STATUSES_WITHOUT_BODY.has(status)) {
        throw new TypeError(`Response constructor: Invalid response status code ${status}`);
      }
      this.#status = status | 0;
    } else {
      this.#status = 200;
    }
    const statusText = init?.statusText;
    if (statusText !== undefined) {
      this.#statusText = `${statusText}`;
      if (!A_REASON.test(this.#statusText)) {
        throw new TypeError("Response: statusText cannot have line feeds, control characters, or characters above U+00FF");
      }
    }
    this.#body = body;
    // What is not text or nothing has rules of its own, which the platform knows; bytes may change later, so they are taken now.
    if (body != null && typeof body !== "string") {
      this.#platform = new PlatformResponse(body, init);
    } else {
      const headers = init?.headers;
      if (headers !== undefined) this.#fields = headerLines(headers);
    }
  }

  static json(data, init) {
    const text = JSON.stringify(data);
    if (text === undefined) throw new TypeError("Response.json: the value is not JSON");
    const response = new Response(text, init);
    response.#isJson = true;
    return response;
  }

  /** A redirection to `url`, which may be relative. The second argument is a status, or an object with `status` and `headers`. */
  static redirect(url, init) {
    if (arguments.length === 0) throw new TypeError("Response.redirect: the URL is missing");
    if (!URL.canParse(`${url}`, "http://localhost/")) throw new TypeError(`Response.redirect: ${JSON.stringify(`${url}`)} is no URL`);
    const { status = 302, headers } = typeof init === "object" && init !== null ? init : { status: init };
    if (!REDIRECTIONS.includes(status)) {
      throw new RangeError(`Response.redirect: the status (${status}) must be one of ${REDIRECTIONS.join(", ")}`);
    }
    // As an URL has them; line feeds cannot get through either.
    const location = `${url}`.replace(/[^\x21-\x7e]+/g, (part) => encodeURIComponent(part.toWellFormed?.() ?? part));
    if (headers === undefined) return new Response(null, { status, headers: { location } });
    const all = new Headers(headers);
    all.set("location", location);
    return new Response(null, { status, headers: all });
  }

  static error() {
    return PlatformResponse.error();
  }

  static [Symbol.hasInstance](value) {
    // Subclasses inherit this function.
    return this === Response ? value instanceof PlatformResponse : Function.prototype[Symbol.hasInstance].call(this, value);
  }

  /** Status, header fields if some were given, text, and whether that is JSON; nothing if only the platform knows. */
  [plain](take, place, serial) {
    if (this.#platform !== undefined) return false;
    take(place, serial, this.#status, this.#fields, this.#body ?? "", this.#body == null, this.#isJson);
    return true;
  }

  [platform]() {
    if (this.#platform === undefined) {
      const headers = this.#fields === undefined ? new Headers() : headersOf(this.#fields);
      // Bun adds the type of text only when it sends it itself: who copies the headers must find it.
      if (this.#body != null && !headers.has("content-type")) {
        headers.set("content-type", this.#isJson ? "application/json" : "text/plain;charset=UTF-8");
      }
      this.#platform = new PlatformResponse(this.#body, { status: this.#status, statusText: this.statusText, headers });
    }
    return this.#platform;
  }

  get status() { return this.#platform === undefined ? this.#status : this.#platform.status; }
  get ok() { return this.status >= 200 && this.status <= 299; }
  get statusText() { return this.#platform === undefined ? this.#statusText : this.#platform.statusText; }
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

showAs(Response.prototype, "Response", (response) => ({
  status: response.status, headers: shownHeaders(() => response.headers), bodyUsed: response.bodyUsed,
}));
Object.setPrototypeOf(Response, PlatformResponse);
Object.setPrototypeOf(Response.prototype, PlatformResponse.prototype);

module.exports = { Response, PlatformResponse, plain, platform };
