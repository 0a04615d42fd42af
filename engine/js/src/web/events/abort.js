// AbortController and AbortSignal (DOM, section 3).
(function abort({ p, load, tag, report }) {
  const { Event, EventTarget, handlerAttribute } = load("events");
  const { TypeError, DOMException } = p;
  const KEY = Symbol("AbortSignal is not constructible");
  let doAbort;
  let addSteps;
  let follow;

  const abortError = () => new DOMException("This operation was aborted", "AbortError");

  class AbortSignal extends EventTarget {
    #aborted = false;
    #reason = undefined;
    #steps = [];

    static {
      doAbort = (signal, reason) => {
        if (signal.#aborted) return;
        signal.#aborted = true;
        signal.#reason = reason === undefined ? abortError() : reason;
        const steps = signal.#steps;
        signal.#steps = [];
        for (let i = 0; i < steps.length; i++) {
          try {
            steps[i](signal.#reason);
          } catch (error) {
            report(error);
          }
        }
        signal.dispatchEvent(new Event("abort"));
      };
      // Internal listeners, run before the event; returns the function that takes it off again.
      addSteps = (signal, step) => {
        if (signal.#aborted) {
          step(signal.#reason);
          return () => {};
        }
        p.push(signal.#steps, step);
        return () => {
          const at = p.indexOf(signal.#steps, step);
          if (at !== -1) p.splice(signal.#steps, at, 1);
        };
      };
      follow = (signal, sources) => {
        for (let i = 0; i < sources.length; i++) {
          if (sources[i].#aborted) {
            signal.#aborted = true;
            signal.#reason = sources[i].#reason;
            return signal;
          }
        }
        const undo = [];
        for (let i = 0; i < sources.length; i++) {
          p.push(undo, addSteps(sources[i], (reason) => {
            for (let j = 0; j < undo.length; j++) undo[j]();
            doAbort(signal, reason);
          }));
        }
        return signal;
      };
    }

    constructor(key) {
      if (key !== KEY) throw new TypeError("Illegal constructor");
      super();
    }
    static abort(reason = undefined) {
      const signal = new AbortSignal(KEY);
      signal.#aborted = true;
      signal.#reason = reason === undefined ? abortError() : reason;
      return signal;
    }
    static timeout(milliseconds) {
      const wait = p.Number(milliseconds);
      if (!(wait >= 0 && wait <= 9007199254740991)) throw new TypeError("AbortSignal.timeout: not a valid time");
      const signal = new AbortSignal(KEY);
      // Made here, so that it has the caller's line.
      const reason = new DOMException(`The operation timed out (AbortSignal.timeout, ${wait} ms)`, "TimeoutError");
      // An uncaught one is answered as a timeout of `fetch` is.
      p.defineProperty(reason, "status", { value: 504, writable: true, configurable: true });
      load("timers").after(wait, () => doAbort(signal, reason));
      return signal;
    }
    static any(signals) {
      const sources = [...signals];
      for (const source of sources) {
        if (!isSignal(source)) throw new TypeError("AbortSignal.any: each element must be an AbortSignal");
      }
      return follow(new AbortSignal(KEY), sources);
    }
    get aborted() {
      return this.#aborted;
    }
    get reason() {
      return this.#reason;
    }
    throwIfAborted() {
      if (this.#aborted) throw this.#reason;
    }
  }
  tag(AbortSignal, "AbortSignal");
  handlerAttribute(AbortSignal, "abort");

  class AbortController {
    #signal = new AbortSignal(KEY);
    get signal() {
      return this.#signal;
    }
    abort(reason = undefined) {
      doAbort(this.#signal, reason);
    }
  }
  tag(AbortController, "AbortController");

  const isSignal = (value) => value instanceof AbortSignal;

  return {
    AbortController, AbortSignal, addSteps, isSignal,
    newSignal: () => new AbortSignal(KEY),
    following: (source) => follow(new AbortSignal(KEY), [source]),
    abortSignal: doAbort,
  };
})
