// A row that gives a promise, or returns at once. A promise that is used as if it were the value is an error that names
// the call: each property that promises do not have is.
(function waiting(name, call, shown, guarded) {
  "use strict";
  const { apply } = Reflect;
  const guard = guarded(shown);
  return {
    [name](...args) {
      return guard(apply(call, this, args));
    },
  }[name];
})
