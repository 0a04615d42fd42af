"use strict";
// From what a handler gave to an answer: the rules, and the ways that a body can take.

const { CONTENT_TYPES, TEXT, JSON_TYPE } = require("./wire.cjs");
const { Response, PlatformResponse, plain, platform } = require("./response.cjs");

const NOTHING = new Uint8Array(0);
const PLAIN_TEXT = "content-type\ntext/plain;charset=UTF-8\n";

class Answers {
  constructor(server) {
    this.server = server;
    this.wire = server.wire;
    this.takePlain = (place, serial, status, headers, text, isNothing, isJson) => {
      this.plain(place, serial, status, headers, text, isNothing, isJson);
    };
  }

  /** Answers a request with what its handler gave, which is no promise. Throws what is wrong with it. */
  give(place, serial, value) {
    if (typeof value === "string") return this.wire.answer(place, serial, 200, TEXT, "", value);
    if (value === undefined || value === null) return this.wire.answer(place, serial, 204, 0, "", "");
    if (typeof value !== "object") {
      throw new TypeError(`a handler gave a ${typeof value}: give a Response, a string, an object or nothing`);
    }
    const proto = Object.getPrototypeOf(value);
    if (proto === Response.prototype) {
      if (value[plain](this.takePlain, place, serial)) return undefined;
      return this.platform(place, serial, value[platform]());
    }
    if (value instanceof PlatformResponse) {
      return this.platform(place, serial, typeof value[platform] === "function" ? value[platform]() : value);
    }
    if (value instanceof Uint8Array) return this.wire.answer(place, serial, 200, 4, "", value);
    const text = JSON.stringify(value);
    if (text === undefined) throw new TypeError("a handler gave an object that is not JSON");
    return this.wire.answer(place, serial, 200, JSON_TYPE, "", text);
  }

  plain(place, serial, status, headers, text, isNothing, isJson) {
    if (headers === undefined) {
      if (isJson) return this.wire.answer(place, serial, status, JSON_TYPE, "", text);
      return this.wire.answer(place, serial, status, 0, isNothing ? "" : PLAIN_TEXT, text);
    }
    const { type, lines, hasType } = headerLines(headers);
    if (hasType || isNothing) return this.wire.answer(place, serial, status, type, lines, text);
    if (isJson) return this.wire.answer(place, serial, status, JSON_TYPE, lines, text);
    return this.wire.answer(place, serial, status, 0, lines + PLAIN_TEXT, text);
  }

  /** A response of the platform: its body is a stream, most often of one piece. */
  platform(place, serial, response) {
    if (response.bodyUsed) throw new TypeError("the body of this Response was read already: it can be sent once");
    const { type, lines } = headerLines(response.headers);
    const { body } = response;
    if (body === null) return this.wire.answer(place, serial, response.status, type, lines, "");
    return this.stream(place, serial, response.status, type, lines, body.getReader());
  }

  async stream(place, serial, status, type, lines, reader) {
    const { wire, server } = this;
    const { native, id } = wire;
    let first;
    try {
      first = await reader.read();
    } catch (error) {
      return server.failed(place, serial, error);
    }
    if (first.done) return server.later(() => wire.answer(place, serial, status, type, lines, NOTHING));
    // A body that is whole already is sent with its length; one that takes longer, piece by piece.
    let next = reader.read();
    const soon = await Promise.race([next.catch((error) => ({ error })), afterThisTurn()]);
    if (soon?.done) return server.later(() => wire.answer(place, serial, status, type, lines, asBytes(first.value)));
    if (type > 0) {
      for (const [name, number] of CONTENT_TYPES) {
        if (number === type) {
          lines += `content-type\n${name}\n`;
          break;
        }
      }
    }
    let stream;
    try {
      stream = native.beginStream(id, place, serial, status, lines);
    } catch (error) {
      return server.failed(place, serial, error);
    }
    if (stream === undefined) return reader.cancel("the client left").catch(() => {});
    const [streamPlace, streamSerial] = stream;
    let { value } = first;
    try {
      for (;;) {
        const state = native.write(id, streamPlace, streamSerial, asBytes(value));
        server.schedule();
        if (state === 1 && (await server.drained(streamPlace, streamSerial)) === "left") break;
        if (state === 2) break;
        const piece = await next;
        if (piece.done) {
          native.endStream(id, streamPlace, streamSerial, true);
          server.schedule();
          return undefined;
        }
        value = piece.value;
        next = reader.read();
      }
      next.catch(() => {});
      await reader.cancel("the client left");
    } catch (error) {
      if (!server.isOver) {
        native.endStream(id, streamPlace, streamSerial, false);
        server.schedule();
        server.report(error);
      }
    }
    return undefined;
  }
}

function afterThisTurn() {
  return new Promise((resolve) => setImmediate(resolve));
}

function asBytes(piece) {
  if (piece instanceof Uint8Array) return piece;
  if (typeof piece === "string") return Buffer.from(piece);
  if (ArrayBuffer.isView(piece)) return new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength);
  if (piece instanceof ArrayBuffer) return new Uint8Array(piece);
  throw new TypeError("a body's stream gave something that is neither bytes nor text");
}

/** Header fields for native code: names and values, each with a line feed behind it; a usual content type as a number. */
function headerLines(headers) {
  let type = 0;
  let lines = "";
  let hasType = false;
  const add = (name, value) => {
    const text = typeof value === "string" ? value : `${value}`;
    if (name === "content-type" || name.toLowerCase() === "content-type") {
      hasType = true;
      const known = CONTENT_TYPES.get(text);
      if (known !== undefined) {
        type = known;
        return;
      }
    }
    if (text.includes("\n") || name.includes("\n")) throw new TypeError(`header ${name}: a value cannot have a line feed`);
    lines += `${name}\n${text}\n`;
  };
  if (typeof headers[Symbol.iterator] === "function") {
    for (const [name, value] of headers) add(name, value);
  } else {
    for (const name of Object.keys(headers)) add(name, headers[name]);
  }
  return { type, lines, hasType };
}

/** What an answer that never changes is made of; nothing where that cannot be known at once. */
function fixed(response) {
  let parts;
  const isPlain = response[plain]?.((place, serial, status, headers, text, isNothing, isJson) => {
    const { type, lines, hasType } = headers === undefined ? { type: 0, lines: "", hasType: false } : headerLines(headers);
    const named = [...CONTENT_TYPES].find(([, number]) => number === type)?.[0];
    let all = lines + (named === undefined ? "" : `content-type\n${named}\n`);
    if (!hasType && !isNothing) all += isJson ? "content-type\napplication/json\n" : PLAIN_TEXT;
    parts = { status, headers: all, body: Buffer.from(text) };
  });
  return isPlain ? parts : undefined;
}

module.exports = { Answers, fixed };
