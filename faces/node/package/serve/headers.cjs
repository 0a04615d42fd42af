"use strict";
// The header fields of a request, read where native code has them until something needs all of them.

const { showAs } = require("./inspect.cjs");

const PlatformHeaders = globalThis.Headers;

class RequestHeaders {
  #request;
  #all;
  #kept;

  constructor(request) {
    this.#request = request;
  }

  /** Copies the fields, before native code forgets the request. Called by the request alone. */
  static keep(headers) {
    if (headers.#all === undefined) headers.#kept ??= headers.#request.nativeHeaders();
  }

  /** All fields, as the platform's own class. */
  #platform() {
    if (this.#all === undefined) {
      this.#all = new PlatformHeaders();
      const flat = this.#kept ?? this.#request.nativeHeaders();
      for (let at = 0; at < flat.length; at += 2) this.#all.append(flat[at], flat[at + 1]);
    }
    return this.#all;
  }

  get(name) {
    if (this.#all !== undefined || this.#kept !== undefined) return this.#platform().get(name);
    return this.#request.nativeHeader(`${name}`) ?? null;
  }

  has(name) {
    return this.get(name) !== null;
  }

  append(name, value) { this.#platform().append(name, value); }
  set(name, value) { this.#platform().set(name, value); }
  delete(name) { this.#platform().delete(name); }
  getSetCookie() { return this.#platform().getSetCookie(); }
  forEach(callback, self) {
    this.#platform().forEach((value, name) => callback.call(self, value, name, this));
  }
  entries() { return this.#platform().entries(); }
  keys() { return this.#platform().keys(); }
  values() { return this.#platform().values(); }
  [Symbol.iterator]() { return this.#platform()[Symbol.iterator](); }
  // Bun's own.
  toJSON() { return Object.fromEntries(this.#platform()); }
  get count() { return [...this.#platform()].length; }
  getAll(name) { return this.#platform().getAll?.(name) ?? this.#platform().getSetCookie(); }
  get [Symbol.toStringTag]() { return "Headers"; }
}

showAs(RequestHeaders.prototype, "Headers", (headers) => Object.fromEntries(headers));
Object.setPrototypeOf(RequestHeaders.prototype, PlatformHeaders.prototype);

module.exports = { RequestHeaders };
