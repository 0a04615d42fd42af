// What combines streams: tee, async iteration, ReadableStream.from and piping (WHATWG Streams 4.9.1, 4.9.2).
(function streamTools({ p, load, copy }) {
  const {
    create, acquire, release, readRequest, readPromise, cancelStream, enqueue, closeController,
    errorController, stateOf, deferred, handled, invoke, canEnqueue, canReadDirectly, readDirectly,
  } = load("readable");
  const { TypeError } = p;

  // Two streams that give the same chunks; `copies` gives the second its own copy of each (bodies).
  function tee(s, copies) {
    const reader = acquire(s);
    const done = deferred();
    const branches = [];
    const cancelled = [false, false];
    const reasons = [];
    let reading = false;
    let again = false;

    const each = (action) => {
      for (let i = 0; i < 2; i++) if (!cancelled[i] && canEnqueue(branches[i])) action(branches[i], i);
    };
    function pull() {
      if (reading) {
        again = true;
        return;
      }
      reading = true;
      readRequest(reader, {
        // In a job of its own, so that a chunk that was there at once is not given before `pull` returns.
        chunk: (value) => queueJob(() => {
          again = false;
          each((branch, i) => enqueue(branch, i === 1 && copies ? copy(value) : value));
          reading = false;
          if (again) pull();
        }),
        close() {
          reading = false;
          each(closeController);
          if (!cancelled[0] || !cancelled[1]) done.resolve(undefined);
        },
        error() {
          reading = false;
        },
      });
    }
    const cancel = (i) => (reason) => {
      cancelled[i] = true;
      reasons[i] = reason;
      if (cancelled[1 - i]) done.resolve(cancelStream(s, [reasons[0], reasons[1]]));
      return done.promise;
    };
    const streams = [create({ pull, cancel: cancel(0) }), create({ pull, cancel: cancel(1) })];
    for (let i = 0; i < 2; i++) branches[i] = stateOf(streams[i]).controller;
    p.then(reader.closed.promise, undefined, (error) => {
      errorController(branches[0], error);
      errorController(branches[1], error);
      if (!cancelled[0] || !cancelled[1]) done.resolve(undefined);
    });
    return streams;
  }
  const queueJob = (job) => p.then(p.resolved(undefined), job);

  function iterate(s, preventCancel) {
    const reader = acquire(s);
    let last = p.resolved(undefined);
    let ended = false;
    // Steps run one after another, whatever the caller does not await.
    let waiting = 0;
    const chain = (step) => {
      waiting += 1;
      const act = () => {
        waiting -= 1;
        return step();
      };
      return (last = p.then(last, act, act));
    };
    const end = () => {
      ended = true;
      release(reader);
    };
    const read = async () => {
      if (ended) return { value: undefined, done: true };
      try {
        const result = await readPromise(reader);
        if (result.done) end();
        return result;
      } catch (error) {
        end();
        throw error;
      }
    };
    return {
      __proto__: asyncIteratorPrototype,
      next: () => {
        if (waiting === 0 && !ended && canReadDirectly(reader)) return (last = readDirectly(reader, end));
        return chain(read);
      },
      return: (value) => chain(async () => {
        if (!ended) {
          ended = true;
          const cancelling = preventCancel ? undefined : cancelStream(s, value);
          release(reader);
          await cancelling;
        }
        return { value, done: true };
      }),
    };
  }
  const asyncIteratorPrototype = p.getPrototypeOf(p.getPrototypeOf((async function* () {}).prototype));

  function fromIterable(iterable) {
    const open = iterable?.[Symbol.asyncIterator] ?? iterable?.[Symbol.iterator];
    if (typeof open !== "function") throw new TypeError("ReadableStream.from: the argument must be iterable");
    const iterator = p.apply(open, iterable, []);
    return create({
      highWaterMark: 0,
      async pull(controller) {
        const step = await iterator.next();
        if (typeof step !== "object" || step === null) throw new TypeError("the iterator gave something that is not an object");
        if (step.done) controller.close();
        else controller.enqueue(await step.value);
      },
      async cancel(reason) {
        if (typeof iterator.return === "function") await iterator.return(reason);
      },
    });
  }

  // Pipes a stream into another (ReadableStreamPipeTo); the four `prevent` options and a signal as there.
  function pipeTo(s, destination, options) {
    const writable = load("writable");
    const w = writable.stateOf(destination);
    if (w === undefined) throw new TypeError("pipeTo: the destination must be a WritableStream");
    const { signal } = options;
    if (signal !== undefined && !load("abort").isSignal(signal)) throw new TypeError("pipeTo: signal must be an AbortSignal");
    const preventClose = !!options.preventClose;
    const preventAbort = !!options.preventAbort;
    const preventCancel = !!options.preventCancel;
    if (w.writer !== undefined) throw new TypeError("pipeTo: the destination is locked");
    const reader = acquire(s);
    const writer = writable.acquireWriter(w);
    s.disturbed = true;

    const finished = deferred();
    let stopping = false;
    let written = p.resolved(undefined);
    let offSignal = () => {};

    // Waits for writes under way, runs the closing action, then settles with its error or the given one.
    function shutdown(action, failed, error) {
      if (stopping) return;
      stopping = true;
      const finish = (failed, error) => {
        writable.releaseWriter(writer);
        release(reader);
        offSignal();
        if (failed) finished.reject(error);
        else finished.resolve(undefined);
      };
      const act = () => {
        if (action === undefined) return finish(failed, error);
        p.then(invoke(action), () => finish(failed, error), (problem) => finish(true, problem));
      };
      if (w.status === "writable" && !writable.closing(w)) p.then(written, act, act);
      else act();
    }
    const onSourceError = (error) =>
      shutdown(preventAbort ? undefined : () => writable.abortStream(w, error), true, error);
    const onDestinationError = (error) =>
      shutdown(preventCancel ? undefined : () => cancelStream(s, error), true, error);
    const onSourceClose = () => shutdown(preventClose ? undefined : () => writable.closeWithPropagation(writer), false);

    function abort(reason) {
      shutdown(() => {
        const actions = [];
        if (!preventAbort) p.push(actions, w.status === "writable" ? writable.abortStream(w, reason) : p.resolved(undefined));
        if (!preventCancel) p.push(actions, s.status === "readable" ? cancelStream(s, reason) : p.resolved(undefined));
        return all(actions);
      }, true, reason);
    }

    function step() {
      if (stopping) return;
      p.then(writer.ready.promise, () => {
        if (stopping) return;
        readRequest(reader, {
          chunk(value) {
            written = handled(writable.write(writer, value));
            queueJob(step);
          },
          close() {},
          error() {},
        });
      }, () => {});
    }

    if (signal !== undefined) offSignal = load("abort").addSteps(signal, abort);
    if (w.status === "errored" || w.status === "erroring") onDestinationError(w.error);
    else if (s.status === "errored") onSourceError(s.error);
    else if (s.status === "closed") onSourceClose();
    else if (writable.closing(w) || w.status === "closed") onDestinationError(new TypeError("pipeTo: the destination is closed"));
    p.then(reader.closed.promise, onSourceClose, onSourceError);
    p.then(writer.closed.promise, () => {
      if (!stopping) onDestinationError(new TypeError("pipeTo: the destination was closed"));
    }, onDestinationError);
    step();
    return finished.promise;
  }
  async function all(promises) {
    let failed = false;
    let problem;
    for (let i = 0; i < promises.length; i++) {
      try {
        await promises[i];
      } catch (error) {
        if (!failed) problem = error;
        failed = true;
      }
    }
    if (failed) throw problem;
  }

  return { tee, iterate, fromIterable, pipeTo };
})
