"use strict";
// Answers that never change: native code gives them without JavaScript.

const { isUtf8 } = require("node:buffer");
const { PLAIN_TEXT, fieldOf, headerLines } = require("./wire.cjs");
const { plain, platform } = require("./response.cjs");
const { fail } = require("./options.cjs");

/** What the answer of a route is made of; nothing where that cannot be known at once. `place` names the route in errors. */
function fixed(response, place) {
  try {
    return ofOurs(response) ?? (typeof Bun === "undefined" ? undefined : ofBun(response));
  } catch (error) {
    return fail(`${place}: ${error.message}`);
  }
}

function ofOurs(response) {
  let parts;
  const isPlain = response[plain]?.((_place, _serial, status, fields, text, isNothing, isJson) => {
    const { type, lines, hasType } = fields ?? { type: 0, lines: "", hasType: false };
    let all = lines + fieldOf(type);
    if (!hasType && !isNothing) all += isJson ? "content-type\napplication/json\n" : PLAIN_TEXT;
    parts = { status, headers: all, body: Buffer.from(text) };
  });
  return isPlain ? parts : undefined;
}

/** A Response of Bun whose body is in memory: only then are its promises fulfilled from the start. */
function ofBun(given) {
  const isTheirs = typeof given[platform] !== "function";
  const response = isTheirs ? given : given[platform]();
  if (response.status < 200) return undefined;
  let body = Buffer.alloc(0);
  const copy = response.clone().body;
  if (copy !== null) {
    const reader = copy.getReader();
    const first = Bun.peek(reader.read());
    reader.cancel().catch(() => {});
    if (first instanceof Promise) {
      first.catch(() => {});
      return undefined;
    }
    body = Bun.peek(response.clone().bytes());
    if (body instanceof Promise) {
      body.catch(() => {});
      return undefined;
    }
  }
  const { type, lines, hasType } = headerLines(response.headers);
  // Bun tells nobody whether an untyped body was made of text or of bytes.
  const isText = !hasType && isTheirs && body.length > 0 && isUtf8(body);
  return { status: response.status, headers: lines + fieldOf(type) + (isText ? PLAIN_TEXT : ""), body };
}

module.exports = { fixed };
