// A row that gives a promise, or returns at once. Its promises get a prototype that makes their use without `await` an
// error.
(function waiting(name, call, prototype) {
  "use strict";
  const { apply } = Reflect;
  const { setPrototypeOf } = Object;
  return {
    [name](...args) {
      const value = apply(call, this, args);
      return value instanceof Promise ? setPrototypeOf(value, prototype) : value;
    },
  }[name];
})
