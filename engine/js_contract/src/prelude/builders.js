// The module `sampan` as far as it is the same in every JavaScript engine. The function gets the primitives of an
// engine (`lib.rs` lists them), and returns what that needs of it. It is written around native functions so that
// everything that calls a user's function is JavaScript, where a promise can pass.
(function contract(primitives) {
"use strict";
const { native, stringify, response, responseWithFields, listOf, fileBody, partsOf } = primitives;
const { isResponse, finished, otherResponse } = primitives;
const { keepHandler, openToFetch, closeToFetch, routeRequest, requestField } = primitives;
const { check, checkHost, checkPattern, checkRedirect, checkStatus, unknownOption } = native;
const { types, statusOfNothing, addedMethods, modules } = native;
const { isArray } = Array;
const { assign, defineProperty, freeze, getOwnPropertySymbols, hasOwn, keys } = Object;
const { apply } = Reflect;
const promiseThen = Promise.prototype.then;
const resolved = Promise.resolve.bind(Promise);
const isPromise = (value) => typeof value === "object" && value instanceof Promise;
const then = (promise, next, failed) => apply(promiseThen, promise, [next, failed]);
// What a function of the script returned, as `await` takes it: an object with a function `then` that is no promise,
// such as the query of a builder, becomes a promise. `then` is asked for once.
function awaited(value) {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return value;
  if (isPromise(value) || isArray(value) || isResponse(value)) return value;
  const settle = value.then;
  if (typeof settle !== "function") return value;
  return new Promise((resolve, reject) => apply(settle, value, [resolve, reject]));
}

// Applies `opts` of a builder: a status, or `{ status, headers }`. The status text is null where nobody chose the
// status: the handler of an error then answers with that of the error.
function build(name, type, body, opts) {
  if (opts === undefined || opts === null) return response(200, type, body, null);
  const chosen = typeof opts === "number" ? opts : opts.status;
  const status = chosen ?? 200;
  if (status !== 200) checkStatus(name, status);
  const statusText = chosen === undefined || chosen === null ? null : "";
  if (typeof opts === "number") return response(status, type, body, statusText);
  check(name, "options", "options", opts);
  for (const key of keys(opts)) {
    if (key !== "status" && key !== "headers") unknownOption(name, key, "status", "headers");
  }
  if (opts.headers === undefined) return response(status, type, body, statusText);
  const list = native.headerList?.(opts.headers, type) ?? listOf(headersOf(opts.headers, type));
  return responseWithFields(status, list, body, statusText);
}

// Header fields that a builder was given, as the class of the Web has them. A list of values is a field for each of
// them, which Set-Cookie needs (RFC 6265, section 3).
function headersOf(given, type) {
  const isPlain = typeof given === "object" && given !== null && given[Symbol.iterator] === undefined
    && getOwnPropertySymbols(given).length === 0;
  const headers = new Headers(isPlain ? undefined : given);
  if (isPlain) {
    for (const name of keys(given)) {
      const value = given[name];
      for (const one of isArray(value) ? value : [value]) headers.append(name, one);
    }
  }
  if (type !== null && !headers.has("content-type")) headers.set("content-type", type);
  return headers;
}

// Refuses a third argument of a builder: `html(text, 200, { headers })` would lose the header fields.
function refuseThird(name, third) {
  if (third === undefined) return;
  throw new TypeError(`${name}: it has two arguments: write status and headers as { status: 201, headers: { ... } }`);
}

function json(value, opts, third) {
  refuseThird("json", third);
  return build("json", types.json, stringify(value), opts);
}
function text(value, opts, third) {
  refuseThird("text", third);
  if (value instanceof Uint8Array) return build("text", types.text, new Uint8Array(value), opts);
  if (typeof value !== "string") check("text", "string", "body", value);
  return build("text", types.text, value, opts);
}
function html(value, opts, third) {
  refuseThird("html", third);
  if (typeof value !== "string") check("html", "string", "body", value);
  return build("html", types.html, value, opts);
}
function redirect(location, status = 302) {
  check("redirect", "string", "location", location);
  checkRedirect("redirect", status);
  return responseWithFields(status, ["location", native.location("redirect", location)], null, "");
}

const kindOf = (value) => (value === null ? "null" : isArray(value) ? "array" : typeof value);

// What a generator function gives would run only if something asked it for values.
const GeneratorFunction = function* () {}.constructor;
const AsyncGeneratorFunction = async function* () {}.constructor;
function refuseGenerator(name, fn, advice) {
  if (!(fn instanceof GeneratorFunction || fn instanceof AsyncGeneratorFunction)) return;
  throw new TypeError(`${name} takes a plain or an async function, not a generator function: ${advice} instead of yield`);
}

// A body that `produce` writes while it is sent. The promise that `write` returns is fulfilled when there is room for
// more.
function stream(produce, opts) {
  check("stream", "function", "first argument", produce);
  refuseGenerator("stream", produce, "call write");
  let gone = false;
  let told = false;
  let room = () => {};
  let waiting = new Promise((resolve) => { room = resolve; });
  const encoder = new TextEncoder();
  // A script that goes on writing must not keep the worker: from the second time on it is told with a delay.
  const leave = async () => {
    if (told) await new Promise((later) => { setTimeout(later, 10); });
    told = true;
    const error = new Error("stream: the client has gone away");
    error.code = "cancelled";
    throw error;
  };
  const put = async (bytes, controller) => {
    if (gone) return leave();
    controller.enqueue(bytes);
    if (controller.desiredSize > 0) return undefined;
    await waiting;
    return gone ? leave() : undefined;
  };
  const body = new ReadableStream({
    start(controller) {
      // Not async: a chunk of a wrong type ends the stream even if no code waits for the write.
      const write = (chunk) => {
        const isText = typeof chunk === "string";
        if (!isText && !(chunk instanceof Uint8Array)) {
          throw new TypeError(`stream: write takes a string or a Uint8Array, not ${kindOf(chunk)}`);
        }
        // The script may write into its chunk again before that is sent.
        return put(isText ? encoder.encode(chunk) : new Uint8Array(chunk), controller);
      };
      const run = async () => produce(write);
      then(run(), () => { if (!gone) controller.close(); }, (error) => { if (!gone) controller.error(error); });
    },
    pull() {
      room();
      waiting = new Promise((resolve) => { room = resolve; });
    },
    cancel() {
      gone = true;
      room();
    },
  }, { highWaterMark: 1 });
  return build("stream", types.bytes, body, opts);
}

// Functions of such modules make answers that a function of the script feeds, by an object that it gets when the body is
// sent: one builder for each kind.
const streamKinds = modules.streamKinds ?? {};
delete modules.streamKinds;
// The functions of such a module send requests to other servers: an engine without a `fetch` of its own makes it of them.
const { httpClient } = modules;
delete modules.httpClient;
const feeders = {};
for (const kind of keys(streamKinds)) {
  const [open, begin] = [streamKinds[kind], streamKinds[`begin${kind[0].toUpperCase()}${kind.slice(1)}`]];
  if (begin !== undefined) feeders[kind] = (feed, opts, written = feed) => fedAnswer(kind, open, begin, feed, opts, written);
}
// `written` is the function as the script wrote it.
function fedAnswer(kind, open, begin, feed, opts, written) {
  check(kind, "function", "first argument", feed);
  refuseGenerator(kind, written, "call send");
  if (opts !== undefined) check(kind, "map", "options", opts);
  const { headers, ...options } = opts ?? {};
  if (headers !== undefined) check(kind, "map", "headers", headers);
  const fields = open(options);
  const list = headersOf(headers ?? {}, null);
  for (const name of keys(fields)) list.set(name, fields[name]);
  let gone = false;
  const body = new ReadableStream({
    pull(controller) {
      const run = async () => {
        const returned = await feed(begin());
        if (typeof returned !== "object" || returned === null || !isResponse(returned)) return;
        // Not every engine knows the place.
        const place = written.fileName === undefined ? "" : ` at ${written.fileName}:${written.lineNumber}`;
        throw new Error(`app.${kind}: the function${place} returned an answer, but the head of the stream has been `
          + `sent: refuse in middleware, or return ${kind}(fn) from a handler`);
      };
      return then(run(), () => { if (!gone) controller.close(); }, (error) => { if (!gone) controller.error(error); });
    },
    cancel() { gone = true; },
  }, { highWaterMark: 0 });
  return responseWithFields(200, listOf(list), body, "");
}

// The first value under a name of a query or form: names that come twice have an array.
const first = (value) => (isArray(value) ? value[0] : value);

const builders = { json, html, text, redirect, stream, first, ...feeders };

// A row that gives an answer returns that, or its body and its content type, or the path of a file, its content type
// and its disposition or false. Behind the row's own arguments are the options of a builder.
function withOptions(name, given, opts) {
  if (!isArray(given)) {
    if (opts === undefined) return given;
    const [type, body] = partsOf(given);
    return build(name, type, body, opts);
  }
  if (given.length === 2) return build(name, given[1], given[0], opts);
  const [path, type, disposition] = given;
  const made = build(name, type, fileBody(path), opts);
  if (disposition !== false && !made.headers.has("content-disposition")) {
    made.headers.set("content-disposition", disposition);
  }
  return made;
}
// The usual numbers of parameters do without a list of arguments, which would cost more than all else here.
function answeringFunction(name, count, call) {
  if (count === 1) return (a, opts) => withOptions(name, call(a), opts);
  if (count === 2) return (a, b, opts) => withOptions(name, call(a, b), opts);
  return (...args) => withOptions(name, apply(call, undefined, args.slice(0, count)), args[count]);
}
function answeringMethod(name, count, call) {
  if (count === 1) return function (a, opts) { return withOptions(name, apply(call, this, [a]), opts); };
  if (count === 2) return function (a, b, opts) { return withOptions(name, apply(call, this, [a, b]), opts); };
  return function (...args) { return withOptions(name, apply(call, this, args.slice(0, count)), args[count]); };
}
for (const [owner, name, count] of native.answering) {
  if (owner === "req") {
    addedMethods[name] = answeringMethod(name, count, addedMethods[name]);
  } else {
    modules[owner][name] = answeringFunction(name, count, modules[owner][name]);
    if (owner === "app") builders[name] = modules[owner][name];
  }
}

