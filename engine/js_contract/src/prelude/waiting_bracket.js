// A bracket around a function that does not wait, with an end that may: its native function gives an array of what the
// function returned and, where the end waits, a promise.
(function waitingBracket(name, call, prototype) {
  "use strict";
  const { apply } = Reflect;
  const { setPrototypeOf } = Object;
  const behind = async (left, value) => {
    await left;
    return value;
  };
  return {
    [name](...args) {
      const [value, left] = apply(call, this, args);
      return left === undefined ? value : setPrototypeOf(behind(left, value), prototype);
    },
  }[name];
})
