// `flat` and `flatMap` as ECMA-262 has them, in JavaScript: the engine's own walk over nested and sparse arrays without asking
// whether they must stop, which every loop here does.
(() => {
  const { isArray, prototype } = Array;
  const { defineProperty, apply } = Reflect;
  const { species } = Symbol;
  const LENGTH_MAX = Number.MAX_SAFE_INTEGER;
  const { trunc, min, max } = Math;

  const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";
  const whole = (value) => trunc(+value) || 0;
  const lengthOf = (value) => min(max(whole(value.length), 0), LENGTH_MAX);

  // ArraySpeciesCreate(source, 0).
  function create(source) {
    if (!isArray(source)) return [];
    let maker = source.constructor;
    if (isObject(maker)) {
      maker = maker[species];
      if (maker === null) maker = undefined;
    }
    return maker === undefined ? [] : new maker(0);
  }

  function put(target, index, value) {
    const done = defineProperty(target, index, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
    if (!done) throw new TypeError("flat: cannot define an element");
  }

  // FlattenIntoArray.
  function flatten(target, source, length, start, depth, mapper, self) {
    let at = start;
    for (let index = 0; index < length; index++) {
      if (!(index in source)) continue;
      let element = source[index];
      if (mapper !== undefined) element = apply(mapper, self, [element, index, source]);
      if (depth > 0 && isArray(element)) at = flatten(target, element, lengthOf(element), at, depth - 1);
      else put(target, at++, element);
    }
    return at;
  }

  const methods = {
    flat() {
      const source = toObject(this);
      const length = lengthOf(source);
      const depth = arguments[0] === undefined ? 1 : whole(arguments[0]);
      const target = create(source);
      flatten(target, source, length, 0, depth);
      return target;
    },
    flatMap(mapper) {
      const source = toObject(this);
      const length = lengthOf(source);
      if (typeof mapper !== "function") throw new TypeError("not a function");
      const target = create(source);
      flatten(target, source, length, 0, 1, mapper, arguments[1]);
      return target;
    },
  };

  const ObjectOf = Object;
  function toObject(value) {
    if (value === undefined || value === null) throw new TypeError("cannot convert to object");
    return ObjectOf(value);
  }

  for (const name of ["flat", "flatMap"]) {
    defineProperty(prototype, name, { value: methods[name], writable: true, enumerable: false, configurable: true });
  }
})();
