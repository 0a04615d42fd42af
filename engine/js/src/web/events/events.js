// Event, CustomEvent and EventTarget (DOM, sections 2.2 to 2.7) without a tree: an event has one target.
(function events({ p, tag, report }) {
  const { TypeError, DOMException } = p;
  let dispatch;

  class Event {
    #type;
    #bubbles;
    #cancelable;
    #composed;
    #target = null;
    #current = null;
    #busy = false;
    #prevented = false;
    #passive = false;
    #stopped = false;
    #timeStamp = p.millis();

    static NONE = 0;
    static CAPTURING_PHASE = 1;
    static AT_TARGET = 2;
    static BUBBLING_PHASE = 3;

    static {
      // Calls the listeners in order; false when one of them prevented the default.
      dispatch = (event, target, listeners) => {
        if (event.#busy) throw new DOMException("the event is already being dispatched", "InvalidStateError");
        event.#busy = true;
        event.#target = event.#current = target;
        for (let i = 0; i < listeners.length && !event.#stopped; i++) {
          const listener = listeners[i];
          if (listener.removed || listener.type !== event.#type) continue;
          if (listener.once) listener.remove();
          event.#passive = listener.passive;
          try {
            const callback = listener.callback;
            if (typeof callback === "function") p.apply(callback, target, [event]);
            else callback.handleEvent(event);
          } catch (error) {
            report(error);
          }
          event.#passive = false;
        }
        event.#busy = false;
        event.#stopped = false;
        event.#current = null;
        return !event.#prevented;
      };
    }

    constructor(type, init = {}) {
      if (arguments.length === 0) throw new TypeError("Event: a type is needed");
      this.#type = `${type}`;
      this.#bubbles = !!init?.bubbles;
      this.#cancelable = !!init?.cancelable;
      this.#composed = !!init?.composed;
    }
    get type() {
      return this.#type;
    }
    get bubbles() {
      return this.#bubbles;
    }
    get cancelable() {
      return this.#cancelable;
    }
    get composed() {
      return this.#composed;
    }
    get target() {
      return this.#target;
    }
    get srcElement() {
      return this.#target;
    }
    get currentTarget() {
      return this.#current;
    }
    get eventPhase() {
      return this.#busy ? Event.AT_TARGET : Event.NONE;
    }
    get defaultPrevented() {
      return this.#prevented;
    }
    get returnValue() {
      return !this.#prevented;
    }
    get isTrusted() {
      return false;
    }
    get timeStamp() {
      return this.#timeStamp;
    }
    composedPath() {
      return this.#busy ? [this.#target] : [];
    }
    preventDefault() {
      if (this.#cancelable && !this.#passive) this.#prevented = true;
    }
    stopPropagation() {}
    stopImmediatePropagation() {
      this.#stopped = true;
    }
  }
  tag(Event, "Event");

  class CustomEvent extends Event {
    #detail;
    constructor(type, init = {}) {
      super(type, init);
      this.#detail = init?.detail ?? null;
    }
    get detail() {
      return this.#detail;
    }
  }
  tag(CustomEvent, "CustomEvent");

  class EventTarget {
    #listeners = [];

    addEventListener(type, callback, options = undefined) {
      if (callback === null || callback === undefined) return;
      if (typeof callback !== "function" && typeof callback !== "object") {
        throw new TypeError("addEventListener: the listener must be a function or an object with handleEvent");
      }
      const capture = captureOf(options);
      const signal = options?.signal;
      if (signal !== undefined && signal?.aborted) return;
      type = `${type}`;
      if (this.#find(type, callback, capture) !== -1) return;
      const listener = {
        type, callback, capture,
        once: !!options?.once,
        passive: !!options?.passive,
        removed: false,
        remove: () => this.#drop(listener),
      };
      // A fresh array, so that a dispatch under way does not see it.
      this.#listeners = [...this.#listeners, listener];
      if (signal !== undefined) signal.addEventListener("abort", listener.remove, { once: true });
    }
    removeEventListener(type, callback, options = undefined) {
      const at = this.#find(`${type}`, callback, captureOf(options));
      if (at !== -1) this.#drop(this.#listeners[at]);
    }
    dispatchEvent(event) {
      if (!(event instanceof Event)) throw new TypeError("dispatchEvent: the argument must be an Event");
      return dispatch(event, this, this.#listeners);
    }
    #find(type, callback, capture) {
      for (let i = 0; i < this.#listeners.length; i++) {
        const listener = this.#listeners[i];
        if (listener.type === type && listener.callback === callback && listener.capture === capture) return i;
      }
      return -1;
    }
    #drop(listener) {
      listener.removed = true;
      const kept = [];
      for (let i = 0; i < this.#listeners.length; i++) {
        if (this.#listeners[i] !== listener) p.push(kept, this.#listeners[i]);
      }
      this.#listeners = kept;
    }
  }
  tag(EventTarget, "EventTarget");

  function captureOf(options) {
    return typeof options === "boolean" ? options : !!options?.capture;
  }

  // An `onabort`-like attribute: a listener that can be read, replaced and removed by assignment.
  function handlerAttribute(ctor, type) {
    const key = Symbol(`on${type}`);
    p.defineProperty(ctor.prototype, `on${type}`, {
      configurable: true,
      enumerable: true,
      get() {
        return this[key] ?? null;
      },
      set(value) {
        const handler = typeof value === "function" ? value : null;
        const old = this[key] ?? null;
        if (old !== null) this.removeEventListener(type, old);
        this[key] = handler;
        if (handler !== null) this.addEventListener(type, handler);
      },
    });
  }

  return { Event, CustomEvent, EventTarget, handlerAttribute };
})
