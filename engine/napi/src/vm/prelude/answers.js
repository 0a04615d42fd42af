
// Answers: a handler runs, and what it gives is delivered: its kind in `meta`, and a value.

// What is waited for, by its number.
const waits = new Map();
let lastNumber = 0;
function nextNumber() {
  lastNumber = lastNumber >= 0x3fff_ffff ? 1 : lastNumber + 1;
  return lastNumber;
}
function wait(promise, status) {
  const number = nextNumber();
  const waited = { isFailed: false, value: undefined, status };
  waits.set(number, waited);
  const settled = (isFailed) => (value) => {
    if (!waits.has(number)) return;
    waited.isFailed = isFailed;
    waited.value = value;
    native.wake(number);
  };
  then(promise, settled(false), settled(true));
  meta[0] = WAITS;
  meta[2] = number;
}
function take(number) {
  const waited = waits.get(number);
  waits.delete(number);
  if (!waited.isFailed) return deliver(waited.value, waited.status);
  return deliverThrown(waited.value, waited.status);
}
function deliverThrown(thrown, status) {
  if (isResponse(thrown)) return deliver(thrown, status);
  thrownLast = thrown;
  throw thrown;
}
// A function that a capability started: what it returned, until that has ended. Both tell whether that is `false`.
function follow(returned) {
  const result = awaited(returned);
  meta[0] = NOTHING;
  if (isPromise(result)) wait(result);
  return result === false;
}
function ended(number) {
  const waited = waits.get(number);
  waits.delete(number);
  if (waited?.isFailed) throw waited.value;
  return waited?.value === false;
}
// The number of a wait for what the platform has to run before it turns to us again.
function afterMicrotasks() {
  const number = nextNumber();
  then(resolved(), () => native.wake(number));
  return number;
}
function drop(number) {
  waits.delete(number);
  streams.delete(number);
}

// Streams that are being sent, by their numbers.
const streams = new Map();
function keepStream(stream) {
  const number = nextNumber();
  streams.set(number, { reader: stream.getReader(), chunk: undefined, error: undefined, isAsked: false });
  return number;
}
function next(number) {
  const stream = streams.get(number);
  meta[0] = WAITS;
  if (stream === undefined) {
    meta[0] = NOTHING;
    return undefined;
  }
  if (stream.error !== undefined) throw stream.error.reason;
  if (stream.chunk !== undefined) {
    const { done, value } = stream.chunk;
    stream.chunk = undefined;
    if (done) {
      meta[0] = NOTHING;
      return undefined;
    }
    if (!(value instanceof Uint8Array)) throw new Error("a body stream must give Uint8Array chunks");
    meta[0] = BYTES;
    return value;
  }
  if (!stream.isAsked) {
    stream.isAsked = true;
    const arrived = (set) => (value) => {
      stream.isAsked = false;
      set(value);
      if (streams.has(number)) native.wake(number);
    };
    then(stream.reader.read(), arrived((chunk) => { stream.chunk = chunk; }), arrived((reason) => { stream.error = { reason }; }));
  }
  return undefined;
}
function cancelStream(number, reason) {
  const stream = streams.get(number);
  streams.delete(number);
  if (stream !== undefined) then(stream.reader.cancel(reason), undefined, native.report);
}

// A response of the platform's own class, as `fetch` gives it: its body is a stream whose length nobody knows.
function deliverPlatform(given) {
  if (given.status < 200) throw new Error("Response.error() is no answer");
  if (given.bodyUsed) throw new Error("the body of this response has been read, so it cannot be sent");
  meta[1] = given.status;
  meta[0] = given.body === null ? ANSWER : STREAM;
  if (given.body !== null) meta[2] = keepStream(given.body);
  return [undefined, ...[...given.headers].flat()];
}

// Delivers what a handler gave. `status` is that of plain values.
function deliver(value, status) {
  meta[1] = status;
  if (typeof value === "string") {
    meta[0] = TEXT;
    return value;
  }
  if (value === undefined || value === null) {
    meta[0] = NOTHING;
    return undefined;
  }
  if (typeof value === "object") {
    const prototype = getPrototypeOf(value);
    if (prototype !== objectPrototype && prototype !== Array.prototype && prototype !== null) {
      if (isOurs(value)) return deliverOurs(value, status);
      if (value instanceof PlatformResponse) return deliverPlatform(value);
      if (isPromise(value)) return wait(value, status);
      if (isBuffer(value)) {
        meta[0] = BYTES;
        return value;
      }
      if (value instanceof ReadableStream || value instanceof Blob) return deliverOurs(ofWeb(value, status), status);
    }
  }
  meta[0] = JSON_TEXT;
  const text = textOf(value);
  if (text === undefined) native.noAnswer(withoutJson(value));
  meta[0] = JSON_TEXT;
  return text;
}

// The response that middleware gets to see of a value that is neither text nor nothing nor a response.
function otherResponse(value, status) {
  if (value instanceof ReadableStream || value instanceof Blob || isBuffer(value)) return ofWeb(value, status);
  const text = textOf(value);
  if (text === undefined) native.noAnswer(withoutJson(value));
  return response(status, ["content-type", types.json], text);
}
// A response whose body is a stream, a `Blob` or bytes.
function ofWeb(body, status) {
  const made = new Response(body, { status });
  if (!made.headers.has("content-type")) made.headers.set("content-type", types.bytes);
  return made;
}

// The number of the request in whose asynchronous context we are.
const storage = native.storage();
const store = () => storage.getStore();

const callHandler = (handler, request) => awaited(handler(request));

// The handler that is the `fetch` of a default export.
let fetchNumber = -1;
function run(number, key, status, chain, error, end, isTraced) {
  const handler = handlers[number];
  if (chain === undefined) {
    if (typeof handler !== "function") return deliver(awaited(handler), status);
    const request = number === fetchNumber ? new WebRequest(key) : new RouteRequest(key);
    let result;
    try {
      result = storage.run(key, callHandler, handler, request);
    } catch (thrown) {
      return deliverThrown(thrown, status);
    }
    return deliver(result, status);
  }
  const request = new RouteRequest(key);
  for (let at = 0; at < chain.length; at += 1) chain[at] = handlers[chain[at]];
  let result;
  try {
    result = number === undefined
      ? storage.run(key, runEmpty, request, chain, end, isTraced)
      : storage.run(key, runHandler, request, chain, handler, status, error, isTraced);
  } catch (thrown) {
    return deliverThrown(thrown, 200);
  }
  // Every part of the chain has given a response, whose status is its own.
  return deliver(result, 200);
}
const requestEnded = (key) => { watched.delete(key); };
