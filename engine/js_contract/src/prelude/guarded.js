// Makes a prototype for the promises of a row, below which nothing is found but what promises have: a promise that is used
// as if it were the value is an error that names the call.
(function guarded(shown) {
  "use strict";
  const { create, defineProperty, getOwnPropertyDescriptor } = Object;
  const { iterator, toPrimitive, toStringTag } = Symbol;
  const ofPromises = Promise.prototype;
  const fail = () => {
    throw new TypeError(`${shown} gives a promise here: write "await ${shown}(...)" and use what that gives`);
  };
  const isUse = (key) => typeof key === "string" || key === iterator || key === toPrimitive;
  const traps = {
    get: (_, key) => (isUse(key) ? fail() : undefined),
    has: (_, key) => (isUse(key) ? fail() : false),
    set: fail,
  };
  const prototype = create(new Proxy(create(ofPromises), traps));
  for (const key of ["constructor", "then", "catch", "finally", toStringTag]) {
    defineProperty(prototype, key, getOwnPropertyDescriptor(ofPromises, key));
  }
  return prototype;
})
