"use strict";
// What a handler may give beside a `Response`: which objects are bodies, which are JSON, and which are mistakes.

const { prototype: plainObject } = Object;

/** What JSON would make `{}` of, or numbered fields: what to write in its place. */
const MISTAKES = {
  __proto__: null,
  Map: "write Object.fromEntries(map)",
  Set: "write [...set]",
  WeakMap: "give the values that are meant",
  WeakSet: "give the values that are meant",
  RegExp: "write String(regexp)",
  Error: "throw the error, or give { error: error.message }",
  Request: "give the values of it that are meant",
  Headers: "write Object.fromEntries(headers)",
  Promise: "is an await missing?",
  Generator: "write [...values], or give an async generator, which is sent piece by piece",
  Iterator: "write [...values]",
};
/** Those that can be sent alone, but not inside of JSON. */
const ALONE = "give it alone, as the whole answer";
/** Kinds that `new Response` takes as a body. */
const BODIES = ["ReadableStream", "Blob", "File", "FormData", "URLSearchParams"];

/** The kind of an object in the platform's words: `Map`, `Blob`, `Uint16Array`. */
function kindOf(value) {
  if (value instanceof Error) return "Error";
  const kind = plainObject.toString.call(value).slice(8, -1);
  return kind.endsWith(" Iterator") ? "Iterator" : kind;
}

/** The pieces of an async generator, of a stream of Node.js, or of anything else that has pieces with a time between. */
function streamOf(pieces) {
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel(why) {
      await iterator.return?.(why);
    },
  }, { highWaterMark: 0 });
}

/** The bytes of a buffer, of any view of one; nothing for what has none. */
function bytesOf(value) {
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return value instanceof ArrayBuffer ? new Uint8Array(value) : undefined;
}

/** What `new Response` takes as a body, of an object that has no place in JSON; nothing for others. */
function bodyOf(value) {
  if (BODIES.includes(kindOf(value))) return value;
  return typeof value[Symbol.asyncIterator] === "function" ? streamOf(value) : undefined;
}

/** What to write instead of an object in JSON; nothing where it has a place there. */
function adviceOn(value, kind, isWhole) {
  if (kind === "Response") return isWhole ? "it is of another class than the global Response" : ALONE;
  if (typeof value.toJSON === "function" && kind !== "Request") return undefined;
  const isBody = ArrayBuffer.isView(value) || kind === "ArrayBuffer" || BODIES.includes(kind) || typeof value[Symbol.asyncIterator] === "function";
  return MISTAKES[kind] ?? (isBody ? ALONE : undefined);
}

/** The JSON of what a handler gave. Throws for what JSON would lose in silence. */
function jsonOf(value) {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`a handler gave ${value}, which has no place in JSON`);
  if (typeof value === "object") refuse(value, "");
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError("a handler gave an object that is not JSON: its toJSON gives nothing");
  // Only what has become one of these can be a mistake, so most answers are not looked through.
  if (text.includes("{}") || text.includes('{"0":')) refuseInside(value, "");
  return text;
}

/** Throws if an object is a mistake; `path` tells where it is in the answer, and is empty for the whole. */
function refuse(value, path) {
  const proto = Object.getPrototypeOf(value);
  if (proto === plainObject || proto === Array.prototype || proto === null) return;
  const kind = kindOf(value);
  const advice = adviceOn(value, kind, path === "");
  if (advice === undefined) return;
  const place = path === "" ? "a handler gave" : `a handler gave, at ${path},`;
  throw new TypeError(`${place} ${/^[AEIO]/.test(kind) ? "an" : "a"} ${kind}, which has no place in JSON: ${advice}`);
}

function refuseInside(value, path) {
  if (value === null || typeof value !== "object") return;
  refuse(value, path);
  if (typeof value.toJSON === "function") return;
  for (const [name, inner] of Object.entries(value)) refuseInside(inner, path === "" ? name : `${path}.${name}`);
}

module.exports = { bodyOf, bytesOf, jsonOf };
