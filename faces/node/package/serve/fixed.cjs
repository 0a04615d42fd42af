"use strict";
// Answers that never change: native code gives them without JavaScript.

const { PLAIN_TEXT, fieldOf, headerLines } = require("./wire.cjs");
const { plain } = require("./response.cjs");
const { fail } = require("./options.cjs");

/** What the answer of a route is made of; nothing where that cannot be known at once. `place` names the route in errors. */
function fixed(response, place) {
  try {
    return ofOurs(response) ?? ofBun(response);
  } catch (error) {
    return fail(`${place}: ${error.message}`);
  }
}

function ofOurs(response) {
  let parts;
  const isPlain = response[plain]?.((_place, _serial, status, headers, text, isNothing, isJson) => {
    const { type, lines, hasType } = headers === undefined ? { type: 0, lines: "", hasType: false } : headerLines(headers);
    let all = lines + fieldOf(type);
    if (!hasType && !isNothing) all += isJson ? "content-type\napplication/json\n" : PLAIN_TEXT;
    parts = { status, headers: all, body: Buffer.from(text) };
  });
  return isPlain ? parts : undefined;
}

/** A Response of Bun whose body is in memory: only then are its promises fulfilled from the start. */
function ofBun(response) {
  if (typeof Bun === "undefined" || typeof response[plain] === "function" || response.status < 200) return undefined;
  const copy = response.clone();
  let body = Buffer.alloc(0);
  if (copy.body !== null) {
    const reader = copy.body.getReader();
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
  return { status: response.status, headers: lines + fieldOf(type) + (hasType || copy.body === null ? "" : PLAIN_TEXT), body };
}

module.exports = { fixed };
