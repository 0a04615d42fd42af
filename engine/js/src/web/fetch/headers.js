// Headers (Fetch standard, section 2.2). The list is one flat array, [name, value, name, value, ...],
// names in lower case, kept under a registered symbol so that native code writes it without a call.
(function headers({ p, symbols, native, protos, adopt }) {
  const LIST = symbols.list;
  const IMMUTABLE = symbols.immutable;
  const { headerName, headerValue, wrongName, wrongValue } = native("headers");
  const { TypeError } = p;

  // Names and values that were checked, with what they became: scripts use few. The bounds keep random ones
  // from piling up.
  const KNOWN_MAX = 256;
  const KNOWN_CHARS_MAX = 64;
  const names = { __proto__: null };
  const values = { __proto__: null };
  let namesKnown = 0;
  let valuesKnown = 0;

  function checkName(name) {
    if (typeof name !== "string") name = `${name}`;
    const known = names[name];
    if (known !== undefined) return known;
    const lower = headerName(p.wellFormed(name));
    if (lower === undefined) throw new TypeError(wrongName(name));
    if (namesKnown < KNOWN_MAX && name.length <= KNOWN_CHARS_MAX) {
      namesKnown++;
      names[name] = lower;
    }
    return lower;
  }

  function checkValue(name, value) {
    if (typeof value !== "string") value = `${value}`;
    const known = values[value];
    if (known !== undefined) return known;
    const checked = headerValue(p.wellFormed(value));
    if (checked === undefined) throw new TypeError(wrongValue(name));
    if (valuesKnown < KNOWN_MAX && value.length <= KNOWN_CHARS_MAX) {
      valuesKnown++;
      values[value] = checked;
    }
    return checked;
  }

  function listOf(headers) {
    const list = headers[LIST];
    if (list === undefined) throw new TypeError("this is not a Headers object");
    return list;
  }

  function mutable(headers) {
    const list = listOf(headers);
    if (headers[IMMUTABLE] === true) throw new TypeError("these headers are immutable");
    return list;
  }

  function getFrom(list, name) {
    let found = null;
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name) found = found === null ? list[i + 1] : `${found}, ${list[i + 1]}`;
    }
    return found;
  }

  function hasIn(list, name) {
    for (let i = 0; i < list.length; i += 2) if (list[i] === name) return true;
    return false;
  }

  function add(list, name, value) {
    list[list.length] = name;
    list[list.length] = value;
  }

  function remove(list, name) {
    let kept = 0;
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name) continue;
      list[kept] = list[i];
      list[kept + 1] = list[i + 1];
      kept += 2;
    }
    list.length = kept;
  }

  // Replaces the first value of a name in its place and drops the others.
  function put(list, name, value) {
    let first = true;
    let kept = 0;
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name) {
        if (!first) continue;
        first = false;
        list[i + 1] = value;
      }
      list[kept] = list[i];
      list[kept + 1] = list[i + 1];
      kept += 2;
    }
    list.length = kept;
    if (first) add(list, name, value);
  }

  // Sorted by name, equal names combined, each Set-Cookie on its own: what iteration shows.
  function sorted(list) {
    const order = [];
    for (let i = 0; i < list.length; i += 2) {
      const name = list[i];
      if (name === "set-cookie" || p.indexOf(order, name) === -1) order[order.length] = name;
    }
    p.sort(order, (a, b) => (a < b ? -1 : a > b ? 1 : 0));
    const pairs = [];
    const each = cookies(list);
    let cookie = 0;
    for (let i = 0; i < order.length; i++) {
      const name = order[i];
      pairs[i] = [name, name === "set-cookie" ? each[cookie++] : getFrom(list, name)];
    }
    return pairs;
  }

  function cookies(list) {
    const values = [];
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === "set-cookie") values[values.length] = list[i + 1];
    }
    return values;
  }

  function fill(list, init) {
    if (init === null || (typeof init !== "object" && typeof init !== "function")) {
      throw new TypeError("Headers: the argument must be Headers, pairs or an object");
    }
    const source = init[LIST];
    if (source !== undefined) {
      for (let i = 0; i < source.length; i++) list[i] = source[i];
    } else if (init[Symbol.iterator] !== undefined) {
      for (const pair of init) {
        if (typeof pair !== "object" || pair === null) throw new TypeError("Headers: each entry must be a pair");
        const entry = [...pair];
        if (entry.length !== 2) throw new TypeError("Headers: each entry must have a name and a value");
        const name = checkName(entry[0]);
        add(list, name, checkValue(name, entry[1]));
      }
    } else {
      const keys = p.ownKeys(init);
      for (let i = 0; i < keys.length; i++) {
        const descriptor = p.getOwnPropertyDescriptor(init, keys[i]);
        if (descriptor === undefined || !descriptor.enumerable) continue;
        if (typeof keys[i] === "symbol") throw new TypeError("Headers: a symbol cannot be a header name");
        const name = checkName(keys[i]);
        add(list, name, checkValue(name, init[keys[i]]));
      }
    }
  }

  // A Headers object over a list that needs no checking.
  function fromList(list, immutable = false) {
    const headers = { __proto__: protos.headers, [LIST]: list };
    if (immutable) headers[IMMUTABLE] = true;
    return headers;
  }

  const listCopy = (headers) => p.slice(listOf(headers), 0);

  // The sorted pairs of a list, sorted again only when the list has changed meanwhile: iteration is live.
  function liveView(list) {
    let before;
    let pairs;
    return () => {
      if (before === undefined || !equal(before, list)) {
        before = p.slice(list, 0);
        pairs = sorted(before);
      }
      return pairs;
    };
  }
  function equal(a, b) {
    if (a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
    return true;
  }
  function iterator(headers, pick) {
    const view = liveView(listOf(headers));
    let at = 0;
    return {
      __proto__: iteratorPrototype,
      next() {
        const pairs = view();
        return at < pairs.length ? { value: pick(pairs[at++]), done: false } : { value: undefined, done: true };
      },
    };
  }
  const iteratorPrototype = {
    __proto__: p.getPrototypeOf(p.getPrototypeOf([][Symbol.iterator]())),
    [Symbol.toStringTag]: "Headers Iterator",
  };

  function Headers(init = undefined) {
    if (new.target === undefined) throw new TypeError("Headers must be called with new");
    this[LIST] = [];
    if (init !== undefined) fill(this[LIST], init);
  }

  adopt(Headers, protos.headers, class {
    append(name, value) {
      const list = mutable(this);
      const key = checkName(name);
      add(list, key, checkValue(key, value));
    }
    delete(name) {
      remove(mutable(this), checkName(name));
    }
    get(name) {
      return getFrom(listOf(this), checkName(name));
    }
    getSetCookie() {
      return cookies(listOf(this));
    }
    has(name) {
      return hasIn(listOf(this), checkName(name));
    }
    set(name, value) {
      const list = mutable(this);
      const key = checkName(name);
      put(list, key, checkValue(key, value));
    }
    forEach(callback, thisArg = undefined) {
      if (typeof callback !== "function") throw new TypeError("Headers.forEach: the argument must be a function");
      const view = liveView(listOf(this));
      for (let i = 0; i < view().length; i++) {
        const pair = view()[i];
        p.apply(callback, thisArg, [pair[1], pair[0], this]);
      }
    }
    entries() {
      return iterator(this, (pair) => [pair[0], pair[1]]);
    }
    keys() {
      return iterator(this, (pair) => pair[0]);
    }
    values() {
      return iterator(this, (pair) => pair[1]);
    }
  });
  p.defineProperty(Headers.prototype, Symbol.iterator, {
    value: Headers.prototype.entries, writable: true, configurable: true,
  });

  return { Headers, fromList, listCopy, listOf, fill, getFrom, hasIn, add, checkValue, IMMUTABLE };
})
