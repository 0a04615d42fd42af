"use strict";
// How our classes look in `console.log`. Node.js would read the fields of the platform's classes, which ours do not have.

const { inspect } = require("node:util");

const custom = Symbol.for("nodejs.util.inspect.custom");

/** Has the instances of a class shown by what `parts` gives of one. */
function showAs(prototype, name, parts) {
  Object.defineProperty(prototype, custom, {
    value(depth, options) {
      if (depth < 0) return `[${name}]`;
      return `${name} ${inspect(parts(this), { ...options, depth: options?.depth ?? 2 })}`;
    },
    configurable: true,
    writable: true,
  });
}

/** Header fields as an object; a text where they can no longer be read. */
function shownHeaders(headers) {
  try {
    return Object.fromEntries(headers());
  } catch (error) {
    return `(${error.message})`;
  }
}

module.exports = { showAs, shownHeaders };
