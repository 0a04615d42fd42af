// Events, abort signals and timers.
test("listeners run in order, once, and can be removed", () => {
  const target = new EventTarget();
  const seen = [];
  const second = { handleEvent: (event) => seen.push(`second ${event.type}`) };
  target.addEventListener("x", () => seen.push("first"), { once: true });
  target.addEventListener("x", second);
  target.addEventListener("x", second);
  target.dispatchEvent(new Event("x"));
  target.dispatchEvent(new Event("x"));
  target.removeEventListener("x", second);
  target.dispatchEvent(new Event("x"));
  equal(seen, ["first", "second x", "second x"]);
  throws(TypeError, () => target.dispatchEvent({ type: "x" }));
});
test("events can be prevented and stopped", () => {
  const target = new EventTarget();
  const seen = [];
  target.addEventListener("x", (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    equal([event.target === target, event.currentTarget === target, event.eventPhase], [true, true, 2]);
  });
  target.addEventListener("x", () => seen.push("not reached"));
  equal(target.dispatchEvent(new Event("x", { cancelable: true })), false);
  equal(target.dispatchEvent(new Event("x")), true);
  equal(seen, []);
  equal(new CustomEvent("c", { detail: 5 }).detail, 5);
});
test("a listener that throws is reported, and the others run", () => {
  const target = new EventTarget();
  let ran = false;
  target.addEventListener("x", () => { throw new RangeError("listener"); });
  target.addEventListener("x", () => void (ran = true));
  target.dispatchEvent(new Event("x"));
  ok(ran);
  const [level, text] = logged.at(-1);
  equal(level, "error");
  ok(text.includes("Uncaught RangeError: listener"), text);
});
test("a listener leaves with its signal", () => {
  const target = new EventTarget();
  const controller = new AbortController();
  let count = 0;
  target.addEventListener("x", () => count++, { signal: controller.signal });
  target.dispatchEvent(new Event("x"));
  controller.abort();
  target.dispatchEvent(new Event("x"));
  equal(count, 1);
});
test("AbortController", () => {
  const controller = new AbortController();
  const { signal } = controller;
  const seen = [];
  signal.onabort = () => seen.push("on");
  signal.addEventListener("abort", (event) => seen.push(event.type));
  equal([signal.aborted, signal.reason], [false, undefined]);
  signal.throwIfAborted();
  controller.abort();
  controller.abort("again");
  equal(seen, ["on", "abort"]);
  equal([signal.aborted, signal.reason.name], [true, "AbortError"]);
  ok(signal.reason instanceof DOMException && signal.reason instanceof Error);
  throws("AbortError", () => signal.throwIfAborted());
  equal(AbortSignal.abort(5).reason, 5);
  throws(TypeError, () => new AbortSignal());
});
test("AbortSignal.any and timeout", async () => {
  const a = new AbortController();
  const b = new AbortController();
  const any = AbortSignal.any([a.signal, b.signal]);
  const nested = AbortSignal.any([any]);
  b.abort("b");
  a.abort("a");
  equal([any.reason, nested.reason], ["b", "b"]);
  equal(AbortSignal.any([AbortSignal.abort("first"), b.signal]).reason, "first");
  equal(AbortSignal.any([]).aborted, false);
  throws(TypeError, () => AbortSignal.any([{}]));
  const timeout = AbortSignal.timeout(50);
  const before = clock();
  await new Promise((resolve) => timeout.addEventListener("abort", resolve));
  equal([timeout.reason.name, clock() - before], ["TimeoutError", 50]);
  throws(TypeError, () => AbortSignal.timeout(-1));
});
test("timers", async () => {
  const seen = [];
  setTimeout((...args) => seen.push(args), 20, "a", 1);
  setTimeout(() => seen.push("first"), 5);
  clearTimeout(setTimeout(() => seen.push("never"), 1));
  let count = 0;
  await new Promise((resolve) => {
    const id = setInterval(() => {
      seen.push("tick");
      if (++count === 3) {
        clearInterval(id);
        resolve();
      }
    }, 10);
    equal(typeof id, "number");
  });
  equal(seen, ["first", "tick", ["a", 1], "tick", "tick"]);
  clearTimeout(undefined);
  clearTimeout(12345);
  throws(TypeError, () => setTimeout("code"));
  equal(sleeping(), 0, "cleared timers leave no sleepers");
});
test("a timer that throws is reported", async () => {
  setTimeout(() => { throw new TypeError("late"); });
  await new Promise((resolve) => setTimeout(resolve, 1));
  ok(logged.at(-1)[1].startsWith("Uncaught TypeError: late"), logged.at(-1)[1]);
});
test("microtasks come before timers", async () => {
  const seen = [];
  setTimeout(() => seen.push("timer"));
  queueMicrotask(() => seen.push("micro"));
  await new Promise((resolve) => setTimeout(resolve, 1));
  equal(seen, ["micro", "timer"]);
});
test("DOMException, performance, navigator and self", () => {
  const error = new DOMException("m", "DataCloneError");
  equal([error.message, error.name, error.code, error instanceof Error, new DOMException().name], ["m", "DataCloneError", 25, true, "Error"]);
  ok(performance.now() >= 0 && performance.timeOrigin > 1e12);
  ok(/^Sampan\/\d/.test(navigator.userAgent));
  ok(self === globalThis);
});
test("timers whose sleep is given up are not kept", async () => {
  const { sleepers } = globalThis.__clock;
  const held = (() => {
    const closure = { big: "closure" };
    setTimeout(() => closure, 1e6);
    return new WeakRef(closure);
  })();
  await undefined;
  ok(held.deref() !== undefined, "held while it sleeps");
  sleepers.length = 0;
  await undefined;
  ok(held.deref() === undefined, "the callback of a dropped sleep is still held");
  for (let i = 0; i < 1000; i++) {
    setTimeout(() => {}, 1e6);
    sleepers.length = 0;
  }
  const late = setTimeout(() => {}, 1e6);
  clearTimeout(late);
  equal(sleepers.length, 0);
});
