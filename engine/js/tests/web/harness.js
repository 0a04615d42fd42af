// What the test files use, and the host hooks of the engine contract in their simplest form.
(() => {
  const sleepers = [];
  let now = 0;
  const lines = [];
  // Kept, for patched.js changes the prototypes.
  const splice = Function.prototype.call.bind(Array.prototype.splice);
  const push = Function.prototype.call.bind(Array.prototype.push);
  globalThis.__host_log = (level, text) => void push(lines, [level, text]);
  globalThis.__host_report = (error) => void push(lines, ["error", `Uncaught ${error.name}: ${error.message}`]);
  globalThis.__host_sleep = (ms, id) =>
    new Promise((resolve) => void push(sleepers, { at: now + ms, id, resolve }));
  globalThis.__host_cancel = (id) => {
    const at = sleepers.findIndex((sleeper) => sleeper.id === id);
    if (at !== -1) sleepers.splice(at, 1);
  };
  // Registered, so that the tests can look at what is kept; the engine gives keys that scripts do not see.
  globalThis.__host_hidden = (name) => Symbol.for(`sampan.${name}`);
  globalThis.__wake = () => {
    let next = -1;
    for (let i = 0; i < sleepers.length; i++) {
      if (next === -1 || sleepers[i].at < sleepers[next].at) next = i;
    }
    if (next === -1) return false;
    const [sleeper] = splice(sleepers, next, 1);
    now = sleeper.at;
    sleeper.resolve();
    return true;
  };
  globalThis.__clock = { sleepers };
  globalThis.sleeping = () => sleepers.length;
  globalThis.clock = () => now;
  globalThis.logged = lines;

  const tests = [];
  const result = (globalThis.__result = { ran: 0, failures: [] });
  globalThis.test = (name, body) => void tests.push([name, body]);
  globalThis.__start = async () => {
    for (const [name, body] of tests) {
      let finished = false;
      try {
        await body();
        finished = true;
      } catch (error) {
        result.failures.push(`  ${name}: ${error?.name}: ${error?.message}\n${error?.stack ?? ""}`);
      }
      if (finished) result.ran++;
    }
    // Counted at the end: a test that never settles leaves the file short of its least number.
    result.ran += result.failures.length;
  };

  const show = (value) => {
    if (value instanceof Uint8Array) return `Uint8Array[${[...value]}]`;
    try {
      return JSON.stringify(value) ?? String(value);
    } catch {
      return String(value);
    }
  };
  const same = (a, b) => {
    if (Object.is(a, b)) return true;
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
    if (Array.isArray(a) !== Array.isArray(b)) return false;
    if (ArrayBuffer.isView(a) !== ArrayBuffer.isView(b)) return false;
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => same(a[key], b[key]));
  };
  globalThis.equal = (actual, expected, note = "") => {
    if (!same(actual, expected)) throw new Error(`${note} got ${show(actual)}, expected ${show(expected)}`);
  };
  globalThis.ok = (value, note = "not true") => {
    if (!value) throw new Error(note);
  };
  const check = (error, kind, note) => {
    const name = typeof kind === "string" ? kind : kind.name;
    if (error?.name !== name) throw new Error(`${note} threw ${error?.name}: ${error?.message}, expected ${name}`);
    return error;
  };
  globalThis.throws = (kind, body, note = "") => {
    let error;
    try {
      body();
    } catch (thrown) {
      return check(thrown, kind, note);
    }
    throw new Error(`${note} did not throw ${kind.name ?? kind}`);
  };
  globalThis.rejects = async (kind, promise, note = "") => {
    try {
      await promise;
    } catch (thrown) {
      return check(thrown, kind, note);
    }
    throw new Error(`${note} did not reject with ${kind.name ?? kind}`);
  };
  globalThis.bytes = (...values) => new Uint8Array(values);
  globalThis.ticks = async (count = 20) => {
    for (let i = 0; i < count; i++) await undefined;
  };
})();
