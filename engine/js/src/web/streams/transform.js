// TransformStream (WHATWG Streams, section 6): a writable and a readable side with backpressure between.
(function transform({ p, load, tag }) {
  const readableTools = load("readable");
  const writableTools = load("writable");
  const { deferred, invoke, strategyOf, method, nothing } = readableTools;
  const { TypeError } = p;
  const INTERNAL = Symbol("internal");
  let makeController;

  function setBackpressure(t, value) {
    t.change?.resolve(undefined);
    t.change = deferred();
    t.backpressure = value;
  }
  function errorReadable(t, error) {
    readableTools.errorController(t.c, error);
    errorWritable(t, error);
  }
  function errorWritable(t, error) {
    clearAlgorithms(t);
    writableTools.errorIfNeeded(t.w, error);
    if (t.backpressure) setBackpressure(t, false);
  }
  function clearAlgorithms(t) {
    t.transform = t.flush = t.cancel = nothing;
  }

  function enqueue(t, chunk) {
    if (!readableTools.canEnqueue(t.c)) throw new TypeError("the readable side is closed or errored");
    try {
      readableTools.enqueue(t.c, chunk);
    } catch (error) {
      errorWritable(t, error);
      throw t.c.stream.error;
    }
    const full = !(t.c.stream.reader?.requests.length > 0) && readableTools.desiredSize(t.c) <= 0;
    if (full && !t.backpressure) setBackpressure(t, true);
  }
  function terminate(t) {
    if (readableTools.canEnqueue(t.c)) readableTools.closeController(t.c);
    errorWritable(t, new TypeError("the transform was terminated"));
  }

  async function performTransform(t, chunk) {
    try {
      await t.transform(chunk, t.controller);
    } catch (error) {
      errorReadable(t, error);
      throw error;
    }
  }
  async function sinkWrite(t, chunk) {
    if (t.backpressure) {
      await t.change.promise;
      if (t.w.status === "erroring") throw t.w.error;
    }
    return performTransform(t, chunk);
  }
  async function sinkClose(t) {
    if (t.finish !== undefined) return t.finish.promise;
    t.finish = deferred();
    readableTools.handled(t.finish.promise);
    const flush = t.flush;
    const flushed = invoke(flush, t.controller);
    clearAlgorithms(t);
    try {
      await flushed;
    } catch (error) {
      readableTools.errorController(t.c, error);
      t.finish.reject(error);
      throw error;
    }
    if (t.c.stream.status === "errored") {
      t.finish.reject(t.c.stream.error);
      throw t.c.stream.error;
    }
    if (readableTools.canEnqueue(t.c)) readableTools.closeController(t.c);
    t.finish.resolve(undefined);
  }
  // Abort of the writable side and cancel of the readable side: `cancel` runs once, then the other side errors.
  async function stop(t, reason, other) {
    if (t.finish !== undefined) return t.finish.promise;
    t.finish = deferred();
    readableTools.handled(t.finish.promise);
    const cancelled = invoke(t.cancel, reason);
    clearAlgorithms(t);
    try {
      await cancelled;
    } catch (error) {
      other(error);
      t.finish.reject(error);
      throw error;
    }
    other(reason);
    t.finish.resolve(undefined);
  }

  class TransformStreamDefaultController {
    #t;
    static {
      makeController = (t) => {
        const controller = new TransformStreamDefaultController(INTERNAL);
        controller.#t = t;
        return controller;
      };
    }
    constructor(key) {
      if (key !== INTERNAL) throw new TypeError("Illegal constructor");
    }
    get desiredSize() {
      return readableTools.desiredSize(this.#t.c);
    }
    enqueue(chunk = undefined) {
      enqueue(this.#t, chunk);
    }
    error(reason = undefined) {
      errorReadable(this.#t, reason);
    }
    terminate() {
      terminate(this.#t);
    }
  }
  tag(TransformStreamDefaultController, "TransformStreamDefaultController");

  class TransformStream {
    #readable;
    #writable;

    constructor(transformer = undefined, writableStrategy = undefined, readableStrategy = undefined) {
      if (transformer === null) throw new TypeError("TransformStream: the transformer must be an object");
      transformer ??= {};
      if (transformer.readableType !== undefined || transformer.writableType !== undefined) {
        throw new p.RangeError("TransformStream: readableType and writableType are not allowed");
      }
      const started = deferred();
      const start = () => started.promise;
      const t = { backpressure: false, change: undefined, finish: undefined };
      t.transform = method(transformer, "transform") ?? ((chunk) => enqueue(t, chunk));
      t.flush = method(transformer, "flush") ?? nothing;
      t.cancel = method(transformer, "cancel") ?? nothing;
      t.controller = makeController(t);
      this.#writable = writableTools.create({
        start,
        write: (chunk) => sinkWrite(t, chunk),
        close: () => sinkClose(t),
        abort: (reason) => stop(t, reason, (error) => readableTools.errorController(t.c, error)),
        ...strategyOf(writableStrategy, 1),
      });
      this.#readable = readableTools.create({
        start,
        pull() {
          setBackpressure(t, false);
          return t.change.promise;
        },
        cancel: (reason) => stop(t, reason, (error) => {
          writableTools.errorIfNeeded(t.w, error);
          if (t.backpressure) setBackpressure(t, false);
        }),
        ...strategyOf(readableStrategy, 0),
      });
      t.w = writableTools.stateOf(this.#writable);
      t.c = readableTools.stateOf(this.#readable).controller;
      setBackpressure(t, true);
      const begin = method(transformer, "start");
      started.resolve(begin === undefined ? undefined : begin(t.controller));
    }
    get readable() {
      return this.#readable;
    }
    get writable() {
      return this.#writable;
    }
  }
  tag(TransformStream, "TransformStream");

  return { TransformStream, TransformStreamDefaultController };
})
