// A row that gives a value that is there, or has a function make it first. Its native halves give promises, and check
// the arguments.
(function fill(name, enter, leave) {
  "use strict";
  const { apply } = Reflect;
  async function run(fn, entered) {
    const { value = null, filling } = await entered;
    if (filling === undefined) return value;
    let made;
    try {
      made = await fn();
    } catch (error) {
      await leave(filling, false);
      throw error;
    }
    // JSON has no `undefined`.
    return leave(filling, true, made === undefined ? null : made);
  }
  return {
    [name](...args) {
      return run(args[args.length - 1], apply(enter, this, args));
    },
  }[name];
})
