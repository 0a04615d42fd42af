// WritableStream (WHATWG Streams, section 5): default controller and writer.
(function writable({ p, load, tag }) {
  const { deferred, handled, invoke, strategyOf, method, nothing } = load("readable");
  const { TypeError } = p;
  const INTERNAL = Symbol("internal");
  let stateOf;
  let makeController;

  const closing = (w) => w.closeRequest !== undefined || w.inFlightClose !== undefined;
  const desiredSize = (w) =>
    w.status === "errored" || w.status === "erroring" ? null : w.status === "closed" ? 0 : w.c.highWaterMark - w.c.total;

  // --- errors: writable -> erroring (writes in flight end first) -> errored ---

  function startErroring(w, reason) {
    w.status = "erroring";
    w.error = reason;
    if (w.writer !== undefined) rejectReady(w.writer, reason);
    if (!inFlight(w) && w.c.started) finishErroring(w);
  }
  const inFlight = (w) => w.inFlightWrite !== undefined || w.inFlightClose !== undefined;

  function dealWithError(w, error) {
    if (w.status === "writable") startErroring(w, error);
    else finishErroring(w);
  }

  function finishErroring(w) {
    w.status = "errored";
    w.c.queue = [];
    w.c.total = 0;
    const requests = w.requests;
    w.requests = [];
    for (let i = 0; i < requests.length; i++) requests[i].reject(w.error);
    const abort = w.pendingAbort;
    w.pendingAbort = undefined;
    if (abort === undefined) return rejectClosing(w);
    if (abort.wasErroring) {
      abort.done.reject(w.error);
      return rejectClosing(w);
    }
    const algorithm = w.c.abort;
    clearAlgorithms(w.c);
    p.then(invoke(algorithm, abort.reason), () => {
      abort.done.resolve(undefined);
      rejectClosing(w);
    }, (error) => {
      abort.done.reject(error);
      rejectClosing(w);
    });
  }

  function rejectClosing(w) {
    if (w.closeRequest !== undefined) {
      w.closeRequest.reject(w.error);
      w.closeRequest = undefined;
    }
    if (w.writer !== undefined) {
      w.writer.closed.reject(w.error);
      handled(w.writer.closed.promise);
    }
  }

  function rejectReady(writer, reason) {
    if (writer.readyPending) writer.ready.reject(reason);
    else {
      writer.ready = deferred();
      writer.ready.reject(reason);
    }
    writer.readyPending = false;
    handled(writer.ready.promise);
  }

  function clearAlgorithms(c) {
    c.write = c.close = c.abort = nothing;
    c.size = () => 1;
  }

  // --- the queue ---

  const CLOSE = Symbol("close");

  function updateBackpressure(w) {
    if (w.status !== "writable" || closing(w)) return;
    const backpressure = desiredSize(w) <= 0;
    const writer = w.writer;
    if (writer !== undefined && backpressure !== w.backpressure) {
      if (backpressure) {
        writer.ready = deferred();
        writer.readyPending = true;
      } else {
        writer.ready.resolve(undefined);
        writer.readyPending = false;
      }
    }
    w.backpressure = backpressure;
  }

  function advance(w) {
    const c = w.c;
    if (!c.started || w.inFlightWrite !== undefined) return;
    if (w.status === "erroring") return finishErroring(w);
    if (w.status === "closed" || w.status === "errored" || c.queue.length === 0) return;
    if (c.queue[0].chunk === CLOSE) processClose(w);
    else processWrite(w, c.queue[0].chunk);
  }

  function processClose(w) {
    const request = (w.inFlightClose = w.closeRequest);
    w.closeRequest = undefined;
    p.shift(w.c.queue);
    const algorithm = w.c.close;
    clearAlgorithms(w.c);
    p.then(invoke(algorithm), () => {
      request.resolve(undefined);
      w.inFlightClose = undefined;
      if (w.status === "erroring") {
        w.error = undefined;
        w.pendingAbort?.done.resolve(undefined);
        w.pendingAbort = undefined;
      }
      w.status = "closed";
      w.writer?.closed.resolve(undefined);
    }, (error) => {
      request.reject(error);
      w.inFlightClose = undefined;
      w.pendingAbort?.done.reject(error);
      w.pendingAbort = undefined;
      dealWithError(w, error);
    });
  }

  function processWrite(w, chunk) {
    const request = (w.inFlightWrite = p.shift(w.requests));
    p.then(invoke(w.c.write, chunk), () => {
      request.resolve(undefined);
      w.inFlightWrite = undefined;
      const { size } = p.shift(w.c.queue);
      w.c.total = w.c.queue.length === 0 ? 0 : w.c.total - size;
      updateBackpressure(w);
      advance(w);
    }, (error) => {
      if (w.status === "writable") clearAlgorithms(w.c);
      request.reject(error);
      w.inFlightWrite = undefined;
      dealWithError(w, error);
    });
  }

  function errorIfNeeded(w, error) {
    if (w.status !== "writable") return;
    clearAlgorithms(w.c);
    startErroring(w, error);
  }

  // --- operations that pipes and transforms use too ---

  function write(writer, chunk) {
    const w = writer.stream;
    let size = 1;
    if (w.status === "writable" && !closing(w)) {
      try {
        size = p.Number(w.c.size(chunk));
        if (!(size >= 0 && size < Infinity)) throw new p.RangeError("the size of a chunk must be finite and not negative");
      } catch (error) {
        errorIfNeeded(w, error);
      }
    }
    if (writer.stream !== w) return p.rejected(new TypeError("the writer was released"));
    if (w.status === "errored" || w.status === "erroring") return p.rejected(w.error);
    if (closing(w) || w.status === "closed") return p.rejected(new TypeError("the stream is closing or closed"));
    const request = deferred();
    p.push(w.requests, request);
    p.push(w.c.queue, { chunk, size });
    w.c.total += size;
    updateBackpressure(w);
    advance(w);
    return request.promise;
  }

  function closeStream(w) {
    if (w.status === "closed" || w.status === "errored") return p.rejected(new TypeError("the stream is already closed or errored"));
    if (closing(w)) return p.rejected(new TypeError("the stream is already closing"));
    const request = (w.closeRequest = deferred());
    if (w.writer !== undefined && w.backpressure && w.status === "writable") {
      w.writer.ready.resolve(undefined);
      w.writer.readyPending = false;
    }
    p.push(w.c.queue, { chunk: CLOSE, size: 0 });
    advance(w);
    return request.promise;
  }
  function closeWithPropagation(writer) {
    const w = writer.stream;
    if (closing(w) || w.status === "closed") return p.resolved(undefined);
    if (w.status === "errored") return p.rejected(w.error);
    return closeStream(w);
  }

  function abortStream(w, reason) {
    if (w.status === "closed" || w.status === "errored") return p.resolved(undefined);
    load("abort").abortSignal(w.c.signal(), reason);
    if (w.status === "closed" || w.status === "errored") return p.resolved(undefined);
    if (w.pendingAbort !== undefined) return w.pendingAbort.done.promise;
    const wasErroring = w.status === "erroring";
    const done = deferred();
    w.pendingAbort = { done, reason: wasErroring ? undefined : reason, wasErroring };
    if (!wasErroring) startErroring(w, reason);
    return done.promise;
  }

  function acquireWriter(w) {
    if (w.writer !== undefined) throw new TypeError("the stream is locked by a writer");
    const writer = { stream: w, ready: deferred(), closed: deferred(), readyPending: false };
    w.writer = writer;
    if (w.status === "writable" && !closing(w) && w.backpressure) writer.readyPending = true;
    else if (w.status === "erroring" || w.status === "errored") writer.ready.reject(w.error);
    else writer.ready.resolve(undefined);
    if (w.status === "closed") writer.closed.resolve(undefined);
    if (w.status === "errored") writer.closed.reject(w.error);
    handled(writer.ready.promise);
    handled(writer.closed.promise);
    return writer;
  }
  function releaseWriter(writer) {
    const w = writer.stream;
    if (w === undefined) return;
    const error = new TypeError("the writer was released");
    rejectReady(writer, error);
    if (w.status === "closed" || w.status === "errored") writer.closed = deferred();
    writer.closed.reject(error);
    handled(writer.closed.promise);
    w.writer = undefined;
    writer.stream = undefined;
  }

  // --- the classes ---

  class WritableStreamDefaultWriter {
    #writer;
    constructor(stream) {
      const w = stateOf(stream);
      if (w === undefined) throw new TypeError("WritableStreamDefaultWriter: the argument must be a WritableStream");
      this.#writer = acquireWriter(w);
    }
    #released() {
      return p.rejected(new TypeError("the writer was released"));
    }
    get closed() {
      return this.#writer.closed.promise;
    }
    get ready() {
      return this.#writer.ready.promise;
    }
    get desiredSize() {
      if (this.#writer.stream === undefined) throw new TypeError("the writer was released");
      return desiredSize(this.#writer.stream);
    }
    write(chunk = undefined) {
      return this.#writer.stream === undefined ? this.#released() : write(this.#writer, chunk);
    }
    close() {
      return this.#writer.stream === undefined ? this.#released() : closeStream(this.#writer.stream);
    }
    abort(reason = undefined) {
      return this.#writer.stream === undefined ? this.#released() : abortStream(this.#writer.stream, reason);
    }
    releaseLock() {
      releaseWriter(this.#writer);
    }
  }
  tag(WritableStreamDefaultWriter, "WritableStreamDefaultWriter");

  class WritableStreamDefaultController {
    #w;
    static {
      makeController = (w) => {
        const controller = new WritableStreamDefaultController(INTERNAL);
        controller.#w = w;
        return controller;
      };
    }
    constructor(key) {
      if (key !== INTERNAL) throw new TypeError("Illegal constructor");
    }
    get signal() {
      return this.#w.c.signal();
    }
    error(reason = undefined) {
      errorIfNeeded(this.#w, reason);
    }
  }
  tag(WritableStreamDefaultController, "WritableStreamDefaultController");

  function setUp(w, { start = nothing, write = nothing, close = nothing, abort = nothing, highWaterMark = 1, size }) {
    let signal;
    const controller = makeController(w);
    const c = (w.c = {
      queue: [], total: 0, highWaterMark, size: size ?? (() => 1), started: false, close, abort,
      write: (chunk) => write(chunk, controller),
      signal: () => (signal ??= load("abort").newSignal()),
    });
    w.backpressure = desiredSize(w) <= 0;
    p.then(p.resolved(start(controller)), () => {
      c.started = true;
      advance(w);
    }, (error) => {
      c.started = true;
      dealWithError(w, error);
    });
  }

  class WritableStream {
    #state = {
      status: "writable", error: undefined, writer: undefined, c: undefined, requests: [], backpressure: false,
      inFlightWrite: undefined, closeRequest: undefined, inFlightClose: undefined, pendingAbort: undefined,
    };
    static {
      stateOf = (value) =>
        typeof value === "object" && value !== null && #state in value ? value.#state : undefined;
    }
    constructor(sink = undefined, strategy = undefined) {
      if (sink === INTERNAL) {
        setUp(this.#state, strategy);
        return;
      }
      if (sink === null) throw new TypeError("WritableStream: the sink must be an object");
      sink ??= {};
      if (sink.type !== undefined) throw new p.RangeError("WritableStream: a sink has no type");
      setUp(this.#state, {
        start: method(sink, "start"), write: method(sink, "write"), close: method(sink, "close"),
        abort: method(sink, "abort"), ...strategyOf(strategy, 1),
      });
    }
    get locked() {
      return this.#state.writer !== undefined;
    }
    abort(reason = undefined) {
      if (this.locked) return p.rejected(new TypeError("a locked stream cannot be aborted"));
      return abortStream(this.#state, reason);
    }
    close() {
      if (this.locked) return p.rejected(new TypeError("a locked stream cannot be closed"));
      return closeStream(this.#state);
    }
    getWriter() {
      return new WritableStreamDefaultWriter(this);
    }
  }
  tag(WritableStream, "WritableStream");

  return {
    WritableStream, WritableStreamDefaultWriter, WritableStreamDefaultController, stateOf, closing, write,
    abortStream, closeWithPropagation, acquireWriter, releaseWriter, errorIfNeeded,
    create: (algorithms) => new WritableStream(INTERNAL, algorithms),
  };
})
