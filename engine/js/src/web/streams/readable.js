// ReadableStream (WHATWG Streams, section 4) with its default controller and reader. A stream of type
// "bytes" is accepted and checked, but read through the default reader only (no BYOB).
(function readable({ p, symbols, load, tag }) {
  const { TypeError, RangeError } = p;
  const SOURCE = symbols.source;
  const INTERNAL = Symbol("internal");
  const nothing = () => {};
  let stateOf;
  let makeController;

  function deferred() {
    const d = { __proto__: null };
    d.promise = new p.Promise((resolve, reject) => {
      d.resolve = resolve;
      d.reject = reject;
    });
    return d;
  }
  function handled(promise) {
    p.then(promise, undefined, nothing);
    return promise;
  }
  // Calls an algorithm of the user's; what it throws becomes a rejection.
  function invoke(algorithm, ...args) {
    try {
      return p.resolved(algorithm(...args));
    } catch (error) {
      return p.rejected(error);
    }
  }

  // --- the controller ---

  function desiredSize(c) {
    if (c.stream.status === "errored") return null;
    return c.stream.status === "closed" ? 0 : c.highWaterMark - c.total;
  }
  const canEnqueue = (c) => !c.closeRequested && c.stream.status === "readable";
  const hasRequests = (s) => s.reader !== undefined && s.reader.requests.length > 0;

  // Whether the source is to be asked now. A source that is being asked is asked again afterwards.
  function wantsPull(c) {
    const s = c.stream;
    if (c.closeRequested || !c.started || s.status !== "readable") return false;
    if (c.total >= c.highWaterMark && !hasRequests(s)) return false;
    if (c.pulling) {
      c.pullAgain = true;
      return false;
    }
    c.pulling = true;
    return true;
  }
  // Asks the source. True if there is nothing to wait for: then `c.pulled` must be the next job, which needs no promise.
  function startPull(c) {
    let asked;
    try {
      const given = c.pull();
      if (given === undefined) return true;
      asked = p.resolved(given);
    } catch (error) {
      asked = p.rejected(error);
    }
    p.then(asked, c.pulled, c.failed);
    return false;
  }
  function pullIfNeeded(c) {
    if (wantsPull(c) && startPull(c)) p.queueMicrotask(c.pulled);
  }

  function sizeOf(c, chunk) {
    try {
      const size = p.Number(c.size(chunk));
      if (size >= 0 && size < Infinity) return size;
      throw new RangeError("the size of a chunk must be finite and not negative");
    } catch (error) {
      errorController(c, error);
      throw error;
    }
  }
  // The first chunk of the queue is `c.first`, the others are in `c.rest`: a stream that is read as fast as it is fed has only the first.
  function enqueue(c, chunk) {
    const s = c.stream;
    if (!canEnqueue(c)) throw new TypeError("the stream is closed or errored: nothing can be enqueued");
    if (hasRequests(s)) {
      p.shift(s.reader.requests).chunk(chunk);
    } else {
      const size = c.size === undefined ? 1 : sizeOf(c, chunk);
      if (c.length === 0) {
        c.first = chunk;
        c.firstSize = size;
      } else {
        p.push(c.rest, { chunk, size });
      }
      c.length += 1;
      c.total += size;
    }
    pullIfNeeded(c);
  }

  function dequeue(c) {
    const chunk = c.first;
    c.length -= 1;
    if (c.length === 0) {
      c.first = undefined;
      c.total = 0;
    } else {
      c.total -= c.firstSize;
      const next = p.shift(c.rest);
      c.first = next.chunk;
      c.firstSize = next.size;
    }
    return chunk;
  }

  function clearController(c) {
    c.first = undefined;
    c.rest = [];
    c.length = 0;
    c.total = 0;
    c.pull = c.cancel = nothing;
    c.read = undefined;
    c.size = undefined;
  }
  function closeController(c) {
    if (!canEnqueue(c)) throw new TypeError("the stream is already closed or errored");
    c.closeRequested = true;
    if (c.length === 0) endController(c);
  }
  // The last chunk has been read.
  function endController(c) {
    clearController(c);
    closeStream(c.stream);
  }
  function errorController(c, error) {
    if (c.stream.status !== "readable") return;
    clearController(c);
    errorStream(c.stream, error);
  }

  // --- the stream ---

  function closeStream(s) {
    s.status = "closed";
    const reader = s.reader;
    if (reader === undefined) return;
    reader.closed.resolve(undefined);
    const requests = reader.requests;
    reader.requests = [];
    for (let i = 0; i < requests.length; i++) requests[i].close();
  }
  function errorStream(s, error) {
    s.status = "errored";
    s.error = error;
    const reader = s.reader;
    if (reader === undefined) return;
    reader.closed.reject(error);
    handled(reader.closed.promise);
    const requests = reader.requests;
    reader.requests = [];
    for (let i = 0; i < requests.length; i++) requests[i].error(error);
  }
  function disturb(s) {
    s.disturbed = true;
    if (s.object[SOURCE] !== undefined) s.object[SOURCE] = undefined;
  }
  function cancelStream(s, reason) {
    disturb(s);
    if (s.status === "closed") return p.resolved(undefined);
    if (s.status === "errored") return p.rejected(s.error);
    closeStream(s);
    const cancel = s.controller.cancel;
    clearController(s.controller);
    return p.then(invoke(cancel, reason), nothing);
  }

  // --- readers ---

  function acquire(s) {
    if (s.reader !== undefined) throw new TypeError("the stream is locked by a reader");
    // A locked stream is no longer a body that can be sent as it was given.
    if (s.object[SOURCE] !== undefined) s.object[SOURCE] = undefined;
    const reader = { stream: s, requests: [], closed: deferred(), onChunk: undefined, onError: undefined, ended: nothing };
    s.reader = reader;
    if (s.status === "closed") reader.closed.resolve(undefined);
    if (s.status === "errored") {
      reader.closed.reject(s.error);
      handled(reader.closed.promise);
    }
    return reader;
  }
  function release(reader) {
    const s = reader.stream;
    if (s === undefined) return;
    const error = new TypeError("the reader was released");
    if (s.status !== "readable") reader.closed = deferred();
    reader.closed.reject(error);
    handled(reader.closed.promise);
    s.reader = undefined;
    reader.stream = undefined;
    const requests = reader.requests;
    reader.requests = [];
    for (let i = 0; i < requests.length; i++) requests[i].error(error);
  }
  // A request is { chunk(value), close(), error(reason) }; exactly one of them is called.
  function readRequest(reader, request) {
    const s = reader.stream;
    disturb(s);
    if (s.status === "closed") return request.close();
    if (s.status === "errored") return request.error(s.error);
    const c = s.controller;
    if (c.length === 0) {
      p.push(reader.requests, request);
      return pullIfNeeded(c);
    }
    const chunk = dequeue(c);
    if (c.closeRequested && c.length === 0) endController(c);
    else pullIfNeeded(c);
    request.chunk(chunk);
  }
  // Whether a read can be handed to the source itself: one of the engine's, with nobody before in the line.
  function canReadDirectly(reader) {
    const s = reader.stream;
    const c = s.controller;
    return c.read !== undefined && s.status === "readable" && c.started && !c.pulling
      && c.length === 0 && reader.requests.length === 0;
  }
  // Such a read needs no request, no pull and no place in the queue, which is most of what a chunk costs. What comes of it is handled by
  // functions that are made once for each reader.
  function readDirectly(reader, ended = nothing) {
    const s = reader.stream;
    const c = s.controller;
    disturb(s);
    c.pulling = true;
    reader.ended = ended;
    reader.onChunk ??= (chunk) => {
      c.pulling = false;
      if (reader.stream !== s) {
        // Released meanwhile: the chunk is the next reader's.
        if (s.status === "readable") chunk === null ? closeController(c) : enqueue(c, chunk);
        throw new TypeError("the reader was released");
      }
      if (chunk === null && s.status === "readable") closeController(c);
      if (s.status !== "readable") {
        reader.ended();
        if (s.status === "errored") throw s.error;
        return { value: undefined, done: true };
      }
      if (reader.requests.length > 0) pullIfNeeded(c);
      return { value: chunk, done: false };
    };
    reader.onError ??= (error) => {
      c.pulling = false;
      errorController(c, error);
      reader.ended();
      throw error;
    };
    return p.then(c.read(), reader.onChunk, reader.onError);
  }

  function readPromise(reader) {
    if (reader.stream === undefined) return p.rejected(new TypeError("the reader was released"));
    if (canReadDirectly(reader)) return readDirectly(reader);
    return new p.Promise((resolve, reject) => {
      readRequest(reader, {
        chunk: (value) => resolve({ value, done: false }),
        close: () => resolve({ value: undefined, done: true }),
        error: reject,
      });
    });
  }

  class ReadableStreamDefaultReader {
    #reader;
    constructor(stream) {
      const s = stateOf(stream);
      if (s === undefined) throw new TypeError("ReadableStreamDefaultReader: the argument must be a ReadableStream");
      this.#reader = acquire(s);
    }
    get closed() {
      return this.#reader.closed.promise;
    }
    read() {
      return readPromise(this.#reader);
    }
    cancel(reason = undefined) {
      const s = this.#reader.stream;
      return s === undefined ? p.rejected(new TypeError("the reader was released")) : cancelStream(s, reason);
    }
    releaseLock() {
      release(this.#reader);
    }
  }
  tag(ReadableStreamDefaultReader, "ReadableStreamDefaultReader");

  class ReadableStreamDefaultController {
    #c;
    static {
      makeController = (c) => {
        const controller = new ReadableStreamDefaultController(INTERNAL);
        controller.#c = c;
        return controller;
      };
    }
    constructor(key) {
      if (key !== INTERNAL) throw new TypeError("Illegal constructor");
    }
    get desiredSize() {
      return desiredSize(this.#c);
    }
    get byobRequest() {
      return null;
    }
    close() {
      closeController(this.#c);
    }
    enqueue(chunk = undefined) {
      if (this.#c.bytes && load("body").nonEmptyView(chunk) === undefined) {
        throw new TypeError("a stream of type bytes takes non-empty views only");
      }
      enqueue(this.#c, chunk);
    }
    error(reason = undefined) {
      errorController(this.#c, reason);
    }
  }
  tag(ReadableStreamDefaultController, "ReadableStreamDefaultController");

  // Fills in the state of a new stream. `start` runs at once and may throw.
  function setUp(s, {
    source, start = nothing, pull = nothing, cancel = nothing, highWaterMark = 1, size, bytes = false, read,
  }) {
    const c = {
      stream: s, first: undefined, firstSize: 0, rest: [], length: 0, total: 0, highWaterMark, size, bytes,
      pull: undefined, cancel, read, started: false, pulling: false, pullAgain: false, closeRequested: false,
      pulled: undefined, failed: undefined,
    };
    s.controller = c;
    const controller = makeController(c);
    // A bound function is called without an array of arguments.
    c.pull = p.bind(pull, source, controller);
    c.pulled = () => {
      c.pulling = false;
      if (c.pullAgain) {
        c.pullAgain = false;
        pullIfNeeded(c);
      }
    };
    c.failed = (error) => errorController(c, error);
    p.then(p.resolved(start(controller)), () => {
      c.started = true;
      pullIfNeeded(c);
    }, c.failed);
    return c;
  }

  function strategyOf(strategy, fallback) {
    const mark = strategy?.highWaterMark;
    const highWaterMark = mark === undefined ? fallback : p.Number(mark);
    if (!(highWaterMark >= 0)) throw new RangeError("highWaterMark must not be negative or NaN");
    const size = strategy?.size;
    if (size !== undefined && typeof size !== "function") throw new TypeError("the size of a strategy must be a function");
    return { highWaterMark, size: size === undefined ? undefined : (chunk) => size(chunk) };
  }
  function plainMethod(object, name) {
    const value = object[name];
    if (value !== undefined && typeof value !== "function") throw new TypeError(`${name} must be a function`);
    return value;
  }
  function method(object, name) {
    const value = plainMethod(object, name);
    return value === undefined ? undefined : (...args) => p.apply(value, object, args);
  }

  class ReadableStream {
    #state = { status: "readable", error: undefined, reader: undefined, disturbed: false, controller: undefined, object: this };

    static {
      stateOf = (value) =>
        typeof value === "object" && value !== null && #state in value ? value.#state : undefined;
    }

    constructor(source = undefined, strategy = undefined) {
      if (source === INTERNAL) {
        setUp(this.#state, strategy);
        return;
      }
      if (source === null) throw new TypeError("ReadableStream: the source must be an object");
      source ??= {};
      const type = source.type;
      if (type !== undefined && `${type}` !== "bytes") throw new TypeError(`ReadableStream: unknown type ${type}`);
      const bytes = type !== undefined;
      setUp(this.#state, {
        source, start: method(source, "start"), pull: plainMethod(source, "pull"), cancel: method(source, "cancel"), bytes,
        ...strategyOf(strategy, bytes ? 0 : 1),
      });
    }
    static from(iterable) {
      return load("stream_tools").fromIterable(iterable);
    }
    get locked() {
      return this.#state.reader !== undefined;
    }
    cancel(reason = undefined) {
      if (this.locked) return p.rejected(new TypeError("a locked stream cannot be cancelled"));
      return cancelStream(this.#state, reason);
    }
    getReader(options = undefined) {
      if (options?.mode !== undefined) throw new TypeError("getReader: only the default reader is available");
      return new ReadableStreamDefaultReader(this);
    }
    tee() {
      return load("stream_tools").tee(this.#state, false);
    }
    pipeTo(destination, options = {}) {
      try {
        return load("stream_tools").pipeTo(this.#state, destination, options ?? {});
      } catch (error) {
        return p.rejected(error);
      }
    }
    pipeThrough(pair, options = {}) {
      if (stateOf(pair?.readable) === undefined) throw new TypeError("pipeThrough: readable must be a ReadableStream");
      handled(load("stream_tools").pipeTo(this.#state, pair.writable, options ?? {}));
      return pair.readable;
    }
    values(options = undefined) {
      return load("stream_tools").iterate(this.#state, !!options?.preventCancel);
    }
  }
  p.defineProperty(ReadableStream.prototype, Symbol.asyncIterator, {
    value: ReadableStream.prototype.values, writable: true, configurable: true,
  });
  tag(ReadableStream, "ReadableStream");

  class CountQueuingStrategy {
    constructor({ highWaterMark }) {
      this.highWaterMark = highWaterMark;
    }
    size() {
      return 1;
    }
  }
  tag(CountQueuingStrategy, "CountQueuingStrategy");
  class ByteLengthQueuingStrategy {
    constructor({ highWaterMark }) {
      this.highWaterMark = highWaterMark;
    }
    size(chunk) {
      return chunk.byteLength;
    }
  }
  tag(ByteLengthQueuingStrategy, "ByteLengthQueuingStrategy");

  const create = (algorithms) => new ReadableStream(INTERNAL, algorithms);

  return {
    ReadableStream, ReadableStreamDefaultReader, ReadableStreamDefaultController,
    CountQueuingStrategy, ByteLengthQueuingStrategy,
    stateOf, create, acquire, release, readRequest, readPromise, canReadDirectly, readDirectly,
    wantsPull, startPull, dequeue, endController, cancelStream, enqueue, closeController, errorController, desiredSize, canEnqueue, deferred, handled, invoke,
    strategyOf, method, nothing,
  };
})
