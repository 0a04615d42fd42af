// ReadableStream (WHATWG Streams, section 4) with its default controller and reader. A stream of type
// "bytes" is accepted and checked, but read through the default reader only (no BYOB).
//
// What every chunk passes through, the controller with its queue, is native (streams/controller.rs): `c.native`, the object that scripts
// see. `c` is what is beside it.
(function readable({ p, symbols, load, native, tag }) {
  const n = native("streams");
  const { TypeError, RangeError } = p;
  const SOURCE = symbols.source;
  const INTERNAL = Symbol("internal");
  const nothing = () => {};
  let stateOf;

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
    return c.stream.status === "closed" ? 0 : n.room(c.native);
  }
  const canEnqueue = (c) => n.isOpen(c.native);
  const enqueue = (c, chunk) => n.put(c.native, chunk);

  function clearController(c) {
    n.clear(c.native);
    c.rest = [];
    c.cancel = nothing;
    c.read = c.size = undefined;
  }
  function closeController(c) {
    if (!canEnqueue(c)) throw new TypeError("the stream is already closed or errored");
    if (n.close(c.native)) endController(c);
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

  // What the native controller leaves to its state `c`, as methods of that.
  const steps = {
    __proto__: null,
    refuse() {
      throw new TypeError("the stream is closed or errored: nothing can be enqueued");
    },
    check(chunk) {
      if (load("body").nonEmptyView(chunk) === undefined) throw new TypeError("a stream of type bytes takes non-empty views only");
    },
    notBytes() {
      throw new TypeError("a body stream must give Uint8Array chunks");
    },
    // A reader waits for the chunk.
    give(chunk) {
      const { requests } = this.stream.reader;
      const request = p.shift(requests);
      n.setAwaited(this.native, requests.length > 0);
      request.chunk(chunk);
    },
    sizeOf(chunk) {
      try {
        const { size: sizeOf } = this;
        const size = p.Number(sizeOf(chunk));
        if (size >= 0 && size < Infinity) return size;
        throw new RangeError("the size of a chunk must be finite and not negative");
      } catch (error) {
        errorController(this, error);
        throw error;
      }
    },
    // The queue behind its first chunk.
    push(chunk, size) {
      p.push(this.rest, { chunk, size });
    },
    refill() {
      const { chunk, size } = p.shift(this.rest);
      n.setFirst(this.native, chunk, size);
    },
    // What the source gave is waited for.
    watch(given) {
      let asked;
      try {
        asked = p.resolved(given);
      } catch (error) {
        asked = p.rejected(error);
      }
      p.then(asked, this.pulled, this.failed);
    },
    failing(error) {
      p.then(p.rejected(error), this.pulled, this.failed);
    },
    pulledSoon() {
      p.queueMicrotask(this.pulled);
    },
    end() {
      endController(this);
    },
    onDemand() {
      return load("stream_bodies").chunkOnDemand(this.stream.reader);
    },
  };

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
    const { cancel } = s.controller;
    clearController(s.controller);
    closeStream(s);
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
    n.setAwaited(s.controller.native, false);
    for (let i = 0; i < requests.length; i++) requests[i].error(error);
  }
  // A request is { chunk(value), close(), error(reason) }; exactly one of them is called.
  function readRequest(reader, request) {
    const s = reader.stream;
    disturb(s);
    if (s.status === "closed") return request.close();
    if (s.status === "errored") return request.error(s.error);
    const c = s.controller;
    if (n.length(c.native) === 0) {
      p.push(reader.requests, request);
      n.setAwaited(c.native, true);
      return n.pull(c.native);
    }
    const chunk = n.take(c.native);
    // A closed queue has had its last chunk taken if no other is there.
    if (n.length(c.native) === 0 && !canEnqueue(c)) endController(c);
    else n.pull(c.native);
    request.chunk(chunk);
  }
  // Whether a read can be handed to the source itself: one of the engine's, with nobody before in the line.
  function canReadDirectly(reader) {
    const s = reader.stream;
    const c = s.controller;
    return c.read !== undefined && n.isIdle(c.native) && reader.requests.length === 0;
  }
  // Such a read needs no request, no pull and no place in the queue, which is most of what a chunk costs. What comes of it is handled by
  // functions that are made once for each reader.
  function readDirectly(reader, ended = nothing) {
    const s = reader.stream;
    const c = s.controller;
    disturb(s);
    n.setPulling(c.native, true);
    reader.ended = ended;
    reader.onChunk ??= (chunk) => {
      n.setPulling(c.native, false);
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
      if (reader.requests.length > 0) n.pull(c.native);
      return { value: chunk, done: false };
    };
    reader.onError ??= (error) => {
      n.setPulling(c.native, false);
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
    constructor() {
      throw new TypeError("Illegal constructor");
    }
    get desiredSize() {
      return desiredSize(n.state(this));
    }
    get byobRequest() {
      return null;
    }
    close() {
      closeController(n.state(this));
    }
    error(reason = undefined) {
      errorController(n.state(this), reason);
    }
  }
  const controllerPrototype = ReadableStreamDefaultController.prototype;
  p.defineProperty(controllerPrototype, "enqueue", { value: n.enqueue, writable: true, configurable: true });
  tag(ReadableStreamDefaultController, "ReadableStreamDefaultController");

  // Fills in the state of a new stream. `start` runs at once and may throw.
  function setUp(s, {
    source, start = nothing, pull = nothing, cancel = nothing, highWaterMark = 1, size, bytes = false, read,
  }) {
    const c = {
      __proto__: steps, stream: s, native: undefined, rest: [], size, cancel, read, pulled: undefined, failed: undefined,
    };
    c.native = n.create(controllerPrototype, c, pull, source, highWaterMark, size !== undefined, bytes);
    c.pulled = () => n.pulled(c.native);
    c.failed = (error) => errorController(c, error);
    s.controller = c;
    p.then(p.resolved(start(c.native)), () => n.start(c.native), c.failed);
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
    cancelStream, enqueue, closeController, errorController, desiredSize, canEnqueue, deferred, handled, invoke,
    strategyOf, method, nothing,
  };
})
