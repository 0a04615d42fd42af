"use strict";
// From what a handler gave to an answer: the rules, and the ways that a body can take.

const { CONTENT_TYPES, TEXT, JSON_TYPE, fieldOf } = require("./wire.cjs");
const { Response, PlatformResponse, plain, platform } = require("./response.cjs");

const NOTHING = new Uint8Array(0);
/** What no name and no value of a header field can have: each character crosses as one byte, and a line feed ends it. */
const NOT_A_FIELD = /[^\t\x20-\x7e\x80-\xff]/;
/** What `write` says of a stream: its client has enough for now, or has left. */
const WAIT = 1;
const GONE = 2;
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

  /** Answers with the pieces of a stream. What goes wrong is the request's fault; this does not fail. */
  async stream(place, serial, status, type, lines, reader) {
    const { wire, server } = this;
    try {
      const first = await reader.read();
      if (first.done) return server.later(() => wire.answer(place, serial, status, type, lines, NOTHING));
      const bytes = asBytes(first.value);
      // A body that is whole already is sent with its length; one that takes longer, piece by piece.
      const next = reader.read();
      const soon = await Promise.race([next.catch((error) => ({ error })), afterThisTurn()]);
      if (soon?.done) return server.later(() => wire.answer(place, serial, status, type, lines, bytes));
      if (server.isOver) return reader.cancel("the server has ended");
      const begun = wire.native.beginStream(wire.id, place, serial, status, lines + fieldOf(type));
      if (begun === undefined) return await reader.cancel("the client left");
      return await this.pieces(server.streams.begin(begun, reader, server.signals.take(place, serial)), bytes, next, reader);
    } catch (error) {
      reader.cancel(error).catch(() => {});
      return server.failed(place, serial, error);
    }
  }

  /** Sends the pieces of a stream that has begun. */
  async pieces(stream, first, second, reader) {
    const { server, wire } = this;
    const { native, id } = wire;
    let [bytes, next] = [first, second];
    try {
      for (;;) {
        const state = native.write(id, stream.place, stream.serial, bytes);
        server.schedule();
        if (state === WAIT) await stream.drained();
        if (state === GONE || stream.isGone) break;
        const piece = await next;
        if (stream.isGone) break;
        if (piece.done) {
          native.endStream(id, stream.place, stream.serial, true);
          server.schedule();
          break;
        }
        bytes = asBytes(piece.value);
        next = reader.read();
      }
    } catch (error) {
      reader.cancel(error).catch(() => {});
      if (server.isOver || stream.isGone) return;
      native.endStream(id, stream.place, stream.serial, false);
      server.schedule();
      server.report(error);
    } finally {
      next.catch(() => {});
      server.streams.end(stream);
    }
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
    if (NOT_A_FIELD.test(text) || NOT_A_FIELD.test(name)) {
      throw new TypeError(`header ${JSON.stringify(name)}: a value cannot have line feeds, control characters, or characters above U+00FF`);
    }
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
    let all = lines + fieldOf(type);
    if (!hasType && !isNothing) all += isJson ? "content-type\napplication/json\n" : PLAIN_TEXT;
    parts = { status, headers: all, body: Buffer.from(text) };
  });
  return isPlain ? parts : undefined;
}

module.exports = { Answers, fixed };
