"use strict";
// `Response` and `Request` of programs that import the package: ours, so that what handlers make can be read at once. They are made when
// the program first names them, because Node.js takes some milliseconds to load its own.

/** What the platform had in the place of ours. */
const replaced = new Map();

/** The platform's own class, whether ours stands in its place or not. */
function platform(name) {
  const present = Object.getOwnPropertyDescriptor(globalThis, name);
  const descriptor = replaced.get(name) ?? present;
  const value = descriptor.get === undefined ? descriptor.value : descriptor.get.call(globalThis);
  // Node.js puts its own in place of what is there when it is first read.
  if (replaced.has(name)) Object.defineProperty(globalThis, name, present);
  return value;
}

function install() {
  if (replaced.size > 0) return;
  lazily("Response", () => require("./response.cjs").Response);
  lazily("Request", () => require("./request.cjs").Request);
}

function lazily(name, load) {
  replaced.set(name, Object.getOwnPropertyDescriptor(globalThis, name));
  const put = (value) => {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
    return value;
  };
  Object.defineProperty(globalThis, name, { get: () => put(load()), set: put, configurable: true, enumerable: false });
}

module.exports = { install, platform };
