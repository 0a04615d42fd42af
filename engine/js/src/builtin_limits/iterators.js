// The methods of sets that walk the keys of their argument, and `Math.sumPrecise`. The engine's own walk over a
// built-in iterator without asking whether they must stop; here each step calls a function, which asks.
(() => {
  const { apply, defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
  const { iterator } = Symbol;
  const { sumPrecise } = Math;
  const { prototype } = Set;
  const { keys: setKeys, has: setHas } = prototype;
  const { keys: mapKeys } = Map.prototype;
  const setSize = getOwnPropertyDescriptor(prototype, "size").get;
  const TypeErrorOf = TypeError;

  const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

  function polled(inner) {
    if (!isObject(inner)) return inner;
    return {
      __proto__: null,
      get next() {
        const { next } = inner;
        return () => apply(next, inner, []);
      },
      get return() {
        const close = inner.return;
        return close === undefined || close === null ? close : () => apply(close, inner, []);
      },
    };
  }

  // Reports whether a value is a set with the built-in methods: its iterator ends where the set does.
  function isPlainSet(value) {
    try {
      apply(setSize, value, []);
    } catch {
      return false;
    }
    return getPrototypeOf(value) === prototype && isKept(value, "has", setHas) && isKept(value, "keys", setKeys);
  }
  const isKept = (set, name, original) =>
    getOwnPropertyDescriptor(set, name) === undefined && getOwnPropertyDescriptor(prototype, name)?.value === original;

  // An object with the three members of an argument that the engine reads, each when it does so.
  const recordOf = (other) => ({
    __proto__: null,
    get size() {
      return other.size;
    },
    get has() {
      const { has } = other;
      return typeof has === "function" ? (value) => apply(has, other, [value]) : has;
    },
    get keys() {
      const { keys } = other;
      if (typeof keys !== "function") return keys;
      // These iterators end where the set or the map does.
      if (keys === setKeys || keys === mapKeys) return () => apply(keys, other, []);
      return () => polled(apply(keys, other, []));
    },
  });

  const iterableOf = (items) => ({
    __proto__: null,
    get [iterator]() {
      const start = items[iterator];
      return typeof start === "function" ? () => polled(apply(start, items, [])) : start;
    },
  });

  function replace(holder, methods) {
    for (const name in methods) {
      defineProperty(holder, name, { value: methods[name], writable: true, enumerable: false, configurable: true });
    }
  }

  for (const name of ["difference", "intersection", "isDisjointFrom", "isSupersetOf", "symmetricDifference", "union"]) {
    const original = prototype[name];
    replace(prototype, {
      [name](other) {
        if (!isObject(other)) throw new TypeErrorOf(`${name}: the argument must be a set or an object like one`);
        return apply(original, this, [isPlainSet(other) ? other : recordOf(other)]);
      },
    });
  }
  replace(Math, {
    sumPrecise(items) {
      return apply(sumPrecise, this, [items === undefined || items === null ? items : iterableOf(items)]);
    },
  });
})();
