"use strict";
// From what a handler gave to an answer: the rules, and the ways that a body can take.

const { PLAIN_TEXT, TEXT, JSON_TYPE, fieldOf, headerLines } = require("./wire.cjs");
const { Response, PlatformResponse, plain, platform } = require("./response.cjs");
const { head, streamed, title } = require("./request.cjs");
const { ENDED } = require("./clients.cjs");
const { bodyOf, bytesOf, jsonOf } = require("./values.cjs");

const NOTHING = new Uint8Array(0);
/** What `write` says of a stream: its client has enough for now, or has left. */
const WAIT = 1;
const GONE = 2;
/** The content type of bytes that have no other, by its number. */
const BYTES = 4;

class Answers {
  constructor(server) {
    this.server = server;
    this.wire = server.wire;
    this.takePlain = (place, serial, status, fields, text, isNothing, isJson) => {
      this.plain(place, serial, status, fields, text, isNothing, isJson);
    };
  }

  /**
   * Answers a request with what its handler gave, which is no promise. Throws what is wrong with it. `status` is that of values which
   * have none: not 200 where the handler has failed, and `value` is what `error` gave.
   */
  give(place, serial, value, request, status = 200) {
    if (typeof value === "string") return this.wire.answer(place, serial, status, TEXT, "", value);
    if (value === undefined || value === null) return this.wire.answer(place, serial, 204, 0, "", "");
    if (typeof value !== "object") {
      if (typeof value === "number" || typeof value === "boolean") return this.wire.answer(place, serial, status, JSON_TYPE, "", jsonOf(value));
      throw new TypeError(`a handler gave a ${typeof value}: give a Response, a string, an object or nothing`);
    }
    const proto = Object.getPrototypeOf(value);
    if (proto === Response.prototype) {
      if (value[plain](this.takePlain, place, serial)) return undefined;
      return this.platform(place, serial, value[platform](), request, status);
    }
    if (proto === Object.prototype || proto === Array.prototype) return this.wire.answer(place, serial, status, JSON_TYPE, "", jsonOf(value));
    if (value instanceof PlatformResponse) {
      return this.platform(place, serial, typeof value[platform] === "function" ? value[platform]() : value, request, status);
    }
    const bytes = bytesOf(value);
    if (bytes !== undefined) return this.wire.answer(place, serial, status, BYTES, "", bytes);
    const body = bodyOf(value);
    if (body !== undefined) return this.platform(place, serial, new PlatformResponse(body, { status }), request, status);
    return this.wire.answer(place, serial, status, JSON_TYPE, "", jsonOf(value));
  }

  plain(place, serial, status, fields, text, isNothing, isJson) {
    if (fields === undefined) {
      if (isJson) return this.wire.answer(place, serial, status, JSON_TYPE, "", text);
      return this.wire.answer(place, serial, status, 0, isNothing ? "" : PLAIN_TEXT, text);
    }
    const { type, lines, hasType } = fields;
    if (hasType || isNothing) return this.wire.answer(place, serial, status, type, lines, text);
    if (isJson) return this.wire.answer(place, serial, status, JSON_TYPE, lines, text);
    return this.wire.answer(place, serial, status, 0, lines + PLAIN_TEXT, text);
  }

  /** A response of the platform: its body is a stream, most often of one piece. */
  platform(place, serial, response, request, status) {
    if (response.bodyUsed) throw new TypeError("the body of this Response was read already: it can be sent once");
    if (response.status === 0) throw new TypeError("Response.error() is no answer that can be sent");
    if (response.status < 200) throw new TypeError(`status ${response.status} cannot be sent by a handler`);
    const { type, lines } = headerLines(response.headers);
    const { body } = response;
    if (body === null) return this.wire.answer(place, serial, response.status, type, lines, "");
    // What is reported of a stream names its request, which may be over by then.
    request[head]();
    return this.stream(place, serial, response.status, type, lines, body.getReader(), request, status);
  }

  /**
   * Answers with the pieces of a stream. What goes wrong is the request's fault; this does not fail. `given` is not 200 where this is the
   * answer of `error`: that is not asked twice.
   */
  async stream(place, serial, status, type, lines, reader, request, given) {
    const { wire, server } = this;
    try {
      // A body that is whole already is sent with its length; one that takes longer, piece by piece behind its head.
      const first = reader.read();
      const begun = await Promise.race([first, afterThisTurn()]);
      if (begun?.done) return server.later(() => wire.answer(place, serial, status, type, lines, NOTHING));
      const bytes = begun && asBytes(begun.value);
      const next = begun ? reader.read() : first;
      if (begun) {
        const soon = await Promise.race([next.catch((error) => ({ error })), afterThisTurn()]);
        if (soon?.done) return server.later(() => wire.answer(place, serial, status, type, lines, bytes));
      }
      if (server.isOver) return reader.cancel(ENDED);
      request.keepForStream();
      const opened = wire.native.beginStream(wire.id, place, serial, status, lines + fieldOf(type));
      if (opened === undefined) return await reader.cancel("the client left");
      server.schedule();
      const stream = server.streams.begin(opened, reader, server.signals.take(place, serial));
      request[streamed](stream);
      return await this.pieces(stream, bytes, next, reader, request);
    } catch (error) {
      reader.cancel(error).catch(() => {});
      return given === 200 ? server.failed(place, serial, error, request) : server.failedPlainly(place, serial, error, request);
    }
  }

  /** Sends the pieces of a stream that has begun; `first` is undefined where none is there yet. */
  async pieces(stream, first, second, reader, request) {
    const { server, wire } = this;
    const { native, id } = wire;
    let [bytes, next] = [first, second];
    try {
      for (;;) {
        if (bytes !== undefined) {
          const state = native.write(id, stream.place, stream.serial, bytes);
          server.schedule();
          if (state === WAIT) await stream.drained();
          if (state === GONE) {
            server.streams.left(stream.place, stream.serial);
            break;
          }
        }
        if (stream.isGone) break;
        const piece = await next;
        if (stream.isGone) break;
        if (piece.done) {
          native.endStream(id, stream.place, stream.serial, true);
          server.schedule();
          break;
        }
        bytes = asBytes(piece.value);
        next = reader.read();
        // It may fail while the client is waited for. The await above throws then.
        next.catch(() => {});
      }
    } catch (error) {
      reader.cancel(error).catch(() => {});
      if (server.isOver || stream.isGone) return;
      native.endStream(id, stream.place, stream.serial, false);
      server.schedule();
      server.report(`${request[title]} (stream)`, error);
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

module.exports = { Answers };
