"use strict";
// Requests and answers as numbers and bytes in memory that native code has too. `src/serve/wire.rs` has the same numbers.

const HEAD = 4;
const REQUEST = 20;
const EVENT = 3;
const ANSWER = 6;

const BATCH_NUMBERS = HEAD + 256 * REQUEST + 256 * EVENT;
const BATCH_BYTES = 512 * 1024;
const ANSWERS_MAX = 512;
const ANSWER_BYTES = 512 * 1024;

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"];

// Content types that an answer names by a number; 0 is none.
const TEXT = 1;
const JSON_TYPE = 2;
const CONTENT_TYPES = new Map([
  ["text/plain;charset=utf-8", TEXT],
  ["application/json", JSON_TYPE],
  ["text/html;charset=utf-8", 3],
  ["application/octet-stream", 4],
  ["text/plain; charset=utf-8", 5],
  ["text/html; charset=utf-8", 6],
]);

/** The field of a content type that has a number. */
function fieldOf(type) {
  for (const [name, number] of CONTENT_TYPES) {
    if (number === type) return `content-type\n${name}\n`;
  }
  return "";
}

// Node.js and Bun write and read the bytes of strings by these methods of Buffer; `write` and `toString` are the documented, slower way.
const { prototype } = Buffer;
const writeUtf8 = prototype.utf8Write ?? function (text, at) { return this.write(text, at, "utf8"); };
const writeLatin1 = prototype.latin1Write ?? function (text, at) { return this.write(text, at, "latin1"); };
const readUtf8 = prototype.utf8Slice ?? function (from, to) { return this.toString("utf8", from, to); };
const readLatin1 = prototype.latin1Slice ?? function (from, to) { return this.toString("latin1", from, to); };

/** What no value of a header field can have: each character crosses as one byte, and a line feed ends it. */
const NOT_A_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
/** The name of a field: a token (RFC 9110, 5.6.2). */
const A_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** The field of text whose type nobody has named, as the platform has it. */
const PLAIN_TEXT = "content-type\ntext/plain;charset=UTF-8\n";

/** How many bytes an array has, whatever its class says. */
const { get: lengthGetter } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), "byteLength");
const byteLengthOf = (bytes) => lengthGetter.call(bytes);

/** The bytes of requests as text: the length is below zero where they are not ASCII. */
function textOf(bytes, at, length) {
  if (length >= 0) return readLatin1.call(bytes, at, at + length);
  return readUtf8.call(bytes, at, at - length);
}

const isSpace = (code) => code === 32 || code === 9 || code === 10 || code === 13;

/** The value of a field without the white space around it (Fetch, 2.2.2). */
function valueOf(value) {
  const text = typeof value === "string" ? value : `${value}`;
  let from = 0;
  let to = text.length;
  while (from < to && isSpace(text.charCodeAt(from))) from++;
  while (to > from && isSpace(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

/**
 * Header fields for native code: names and values, each with a line feed behind it; a usual content type as a number. Throws a `TypeError`
 * for what the platform's `Headers` refuse, and for values that cannot be sent.
 */
function headerLines(headers) {
  if (typeof headers !== "object" || headers === null) throw new TypeError("headers must be an object, a Headers, or a list of pairs");
  let contentType;
  let lines = "";
  const add = (name, value) => {
    const text = valueOf(value);
    if (name === "content-type" || (name.length === 12 && name.toLowerCase() === "content-type")) {
      contentType = contentType === undefined ? text : `${contentType}, ${text}`;
    } else lines += line(name, text);
  };
  if (typeof headers[Symbol.iterator] === "function") {
    for (const given of headers) {
      const pair = Array.isArray(given) || typeof given !== "object" ? given : [...given];
      if (!Array.isArray(pair) || pair.length !== 2) throw new TypeError("headers: a list is made of pairs of a name and a value");
      add(`${pair[0]}`, pair[1]);
    }
  } else {
    for (const name of Object.keys(headers)) add(name, headers[name]);
  }
  const type = CONTENT_TYPES.get(contentType) ?? 0;
  if (contentType !== undefined && type === 0) lines += line("content-type", contentType);
  return { type, lines, hasType: contentType !== undefined };
}

/** One field as native code wants it. */
function line(name, value) {
  if (NOT_A_VALUE.test(value)) {
    throw new TypeError(`header ${JSON.stringify(name)}: a value cannot have line feeds, control characters, or characters above U+00FF`);
  }
  if (!A_NAME.test(name)) throw new TypeError(`header ${JSON.stringify(name)}: a name is made of letters, digits and -`);
  return `${name}\n${value}\n`;
}

/** The fields that `headerLines` gave, as the platform's own class. */
function headersOf({ type, lines }) {
  const headers = new Headers();
  const parts = (lines + fieldOf(type)).split("\n");
  for (let at = 0; at + 1 < parts.length; at += 2) headers.append(parts[at], parts[at + 1]);
  return headers;
}

/** Memory of servers that have ended, for those to come. */
const free = [];
const FREE_MAX = 4;

function memory() {
  return free.pop() ?? {
    numbers: new Int32Array(BATCH_NUMBERS),
    bytes: Buffer.from(new ArrayBuffer(BATCH_BYTES)),
    answers: new Int32Array(ANSWERS_MAX * ANSWER),
    answerBytes: Buffer.from(new ArrayBuffer(ANSWER_BYTES)),
  };
}

/** The memory of one server. */
class Wire {
  constructor(native, id, signals) {
    this.native = native;
    this.id = id;
    this.signals = signals;
    this.memory = memory();
    this.numbers = this.memory.numbers;
    this.bytes = this.memory.bytes;
    this.answers = this.memory.answers;
    this.answerBytes = this.memory.answerBytes;
    this.answerCount = 0;
    this.answerUsed = 0;
    /** Which batch lies in the memory. */
    this.batch = 0;
  }

  /** Gives the answers, and takes the next batch. Returns how many requests it has. */
  turn() {
    const count = this.answerCount;
    this.answerCount = 0;
    this.answerUsed = 0;
    this.batch++;
    return this.native.turn(this.id, this.numbers, this.bytes, this.answers, this.answerBytes, count);
  }

  /** Gives the memory back: the server has ended. */
  end() {
    this.batch++;
    if (free.length < FREE_MAX) free.push(this.memory);
  }

  /** Whether there is more to do: 0 nothing, 1 perhaps, 2 at once. */
  get more() {
    return this.numbers[2];
  }

  /** Whether there are events of WebSockets. */
  get hasSocketEvents() {
    return this.numbers[3] !== 0;
  }

  /** Answers a request; `headers` has names and values, each with a line feed behind it. */
  answer(place, serial, status, type, headers, body) {
    if (this.signals.size > 0) this.signals.take(place, serial);
    const isText = typeof body === "string";
    const length = isText ? body.length * 3 : byteLengthOf(body);
    const room = headers.length + length;
    if (this.answerUsed + room > ANSWER_BYTES || this.answerCount === ANSWERS_MAX) {
      if (room > ANSWER_BYTES / 4) return this.answerAlone(place, serial, status, type, headers, body);
      this.native.give(this.id, this.answers, this.answerBytes, this.answerCount);
      this.answerCount = 0;
      this.answerUsed = 0;
    }
    const at = this.answerCount * ANSWER;
    const { answers, answerBytes } = this;
    answers[at] = place;
    answers[at + 1] = serial;
    answers[at + 2] = status;
    answers[at + 3] = type;
    let used = this.answerUsed;
    if (headers.length > 0) used += writeLatin1.call(answerBytes, headers, used, headers.length);
    answers[at + 4] = used - this.answerUsed;
    const begin = used;
    if (isText) {
      if (body.length > 0) used += writeUtf8.call(answerBytes, body, used, room);
    } else {
      if (length > 0) answerBytes.set(body, used);
      used += length;
    }
    answers[at + 5] = used - begin;
    // Only now: what could not be written leaves nothing behind.
    this.answerUsed = used;
    this.answerCount++;
  }

  /** One that is too large for the memory. */
  answerAlone(place, serial, status, type, headers, body) {
    this.native.answer(this.id, place, serial, status, headers + fieldOf(type), body);
  }
}

module.exports = {
  Wire, HEAD, REQUEST, EVENT, METHODS, PLAIN_TEXT, TEXT, JSON_TYPE, fieldOf, headerLines, headersOf, textOf, readUtf8,
};
