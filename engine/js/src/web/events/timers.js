// setTimeout and its family, on the engine's `__host_sleep(ms, id) -> promise` and `__host_cancel(id)`.
(function timers({ p, host, report }) {
  const { TypeError } = p;
  // What HTML's 32-bit delay can express; a longer one fires at once, as in browsers.
  const DELAY_MILLIS_MAX = 2147483647;
  // Timers by id, to clear them. Weak, for the engine gives up the sleeps of a request that has ended without a
  // word: a timer is held by the reaction on its sleep's promise and goes with it.
  const known = new p.Map();
  const SWEEP_MIN = 64;
  let sweepAt = SWEEP_MIN;
  let lastId = 0;

  function remember(timer) {
    if (p.mapSize(known) >= sweepAt) {
      p.mapEach(known, (ref, id) => {
        if (p.deref(ref) === undefined) p.mapDelete(known, id);
      });
      sweepAt = SWEEP_MIN + 2 * p.mapSize(known);
    }
    p.mapSet(known, timer.id, new p.WeakRef(timer));
  }

  function delayOf(value, least) {
    const millis = p.Number(value);
    return millis > least && millis <= DELAY_MILLIS_MAX ? p.floor(millis) : least;
  }

  function arm(timer) {
    p.then(host.sleep(timer.millis, timer.id), () => fire(timer), (error) => drop(timer, error));
  }
  function drop(timer, error) {
    p.mapDelete(known, timer.id);
    report(error);
  }

  function fire(timer) {
    if (timer.cleared) return;
    if (!timer.repeats) p.mapDelete(known, timer.id);
    try {
      p.apply(timer.callback, globalThis, timer.args);
    } catch (error) {
      report(error);
    }
    if (!timer.repeats || timer.cleared) return;
    try {
      arm(timer);
    } catch (error) {
      drop(timer, error);
    }
  }

  function start(name, callback, millis, args, repeats) {
    if (typeof callback !== "function") throw new TypeError(`${name}: the first argument must be a function`);
    const timer = { id: ++lastId, callback, args, repeats, millis, cleared: false };
    arm(timer);
    remember(timer);
    return timer.id;
  }

  function clear(value) {
    const id = p.Number(value);
    const ref = p.mapGet(known, id);
    if (ref === undefined) return;
    p.mapDelete(known, id);
    const timer = p.deref(ref);
    if (timer === undefined) return;
    timer.cleared = true;
    host.cancel(id);
  }

  function setTimeout(callback, delay = 0, ...args) {
    return start("setTimeout", callback, delayOf(delay, 0), args, false);
  }
  // An interval of nothing would be a busy loop.
  function setInterval(callback, delay = 0, ...args) {
    return start("setInterval", callback, delayOf(delay, 1), args, true);
  }
  function clearTimeout(id = undefined) {
    clear(id);
  }
  function clearInterval(id = undefined) {
    clear(id);
  }

  // For AbortSignal.timeout, whose time may be longer than a timer's.
  function after(millis, callback) {
    return setTimeout(callback, p.min(millis, DELAY_MILLIS_MAX));
  }

  return { setTimeout, setInterval, clearTimeout, clearInterval, after };
})
