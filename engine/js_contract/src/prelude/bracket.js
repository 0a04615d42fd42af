// A bracket around a function that may wait: `enter`, the function, `leave`. Its native halves give promises, and check
// the arguments.
(function bracket(name, enter, leave) {
  "use strict";
  const { apply } = Reflect;
  async function run(fn, entered) {
    const token = await entered;
    let result;
    try {
      result = await fn(token);
    } catch (error) {
      await leave(token, false);
      throw error;
    }
    await leave(token, true);
    return result;
  }
  return {
    [name](...args) {
      return run(args[args.length - 1], apply(enter, this, args));
    },
  }[name];
})
