// structuredClone (HTML, section 2.7): cycles, Map, Set, Date, RegExp, errors, buffers and views, Blob and
// File; `transfer` moves ArrayBuffers.
(function clone({ p, peek, native, symbols }) {
  const { TypeError, DOMException } = p;
  const { isProxy } = native("clone");
  const regexpSource = p.getter(RegExp.prototype, "source");
  const regexpFlags = p.getter(RegExp.prototype, "flags");
  const ERRORS = { __proto__: null, Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
  const VIEWS = { __proto__: null, DataView };
  for (const type of [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
    Float32Array, Float64Array, BigInt64Array, BigUint64Array, globalThis.Float16Array]) {
    if (type !== undefined) VIEWS[type.name] = type;
  }
  const unboxers = [Boolean, Number, String, BigInt].map((type) => p.uncurry(type.prototype.valueOf));

  const refuse = (what) => {
    throw new DOMException(`${what} could not be cloned`, "DataCloneError");
  };

  // The first answer of internal-slot checks that throw for everything else.
  function probe(read, value) {
    try {
      return read(value);
    } catch {
      return undefined;
    }
  }

  function cloneBuffer(buffer, seen) {
    const known = p.mapGet(seen, buffer);
    if (known !== undefined) return known;
    const fresh = p.bufferSlice(buffer, 0, p.bufferBytes(buffer));
    p.mapSet(seen, buffer, fresh);
    return fresh;
  }

  function cloneView(value, seen) {
    const name = p.typedTag(value) ?? "DataView";
    const isDataView = name === "DataView";
    const buffer = clone(isDataView ? p.viewBuffer(value) : p.typedBuffer(value), seen);
    const offset = isDataView ? p.viewOffset(value) : p.typedOffset(value);
    const length = isDataView ? p.viewBytes(value) : p.typedLength(value);
    return new VIEWS[name](buffer, offset, length);
  }

  function cloneError(value, seen) {
    const name = `${value.name}`;
    const fresh = new (ERRORS[name] ?? ERRORS.Error)();
    p.mapSet(seen, value, fresh);
    const message = p.getOwnPropertyDescriptor(value, "message");
    if (message !== undefined && "value" in message) own(fresh, "message", `${message.value}`);
    const stack = probe((error) => error.stack, value);
    if (typeof stack === "string") own(fresh, "stack", stack);
    const cause = p.getOwnPropertyDescriptor(value, "cause");
    if (cause !== undefined && "value" in cause) own(fresh, "cause", clone(cause.value, seen));
    return fresh;
  }
  function own(object, key, value) {
    p.defineProperty(object, key, { value, writable: true, configurable: true });
  }

  function cloneProperties(value, fresh, seen) {
    const keys = p.keys(value);
    for (let i = 0; i < keys.length; i++) {
      if (!p.hasOwn(value, keys[i])) continue;
      p.defineProperty(fresh, keys[i], {
        value: clone(value[keys[i]], seen), writable: true, enumerable: true, configurable: true,
      });
    }
    return fresh;
  }

  function cloneMap(value, seen) {
    const fresh = new p.Map();
    p.mapSet(seen, value, fresh);
    const entries = [];
    p.mapEach(value, (item, key) => p.push(entries, key, item));
    for (let i = 0; i < entries.length; i += 2) p.mapSet(fresh, clone(entries[i], seen), clone(entries[i + 1], seen));
    return fresh;
  }
  function cloneSet(value, seen) {
    const fresh = new p.Set();
    p.mapSet(seen, value, fresh);
    const items = [];
    p.setEach(value, (item) => p.push(items, item));
    for (let i = 0; i < items.length; i++) p.setAdd(fresh, clone(items[i], seen));
    return fresh;
  }

  // Platform objects and those with internal slots; undefined for plain objects.
  function cloneExotic(value, seen) {
    if (p.isView(value)) return cloneView(value, seen);
    if (probe(p.bufferBytes, value) !== undefined) return cloneBuffer(value, seen);
    const time = probe(p.dateTime, value);
    if (time !== undefined) return new Date(time);
    if (probe(p.mapSize, value) !== undefined) return cloneMap(value, seen);
    if (probe(p.setSize, value) !== undefined) return cloneSet(value, seen);
    const isRegExp = value !== RegExp.prototype && probe(regexpFlags, value) !== undefined &&
      probe(regexpSource, value) !== undefined && p.toString(value) === "[object RegExp]";
    if (isRegExp) return new RegExp(regexpSource(value), regexpFlags(value));
    if (value instanceof DOMException) return new DOMException(value.message, value.name);
    if (Error.isError(value)) return cloneError(value, seen);
    for (let i = 0; i < unboxers.length; i++) {
      const inner = probe(unboxers[i], value);
      if (inner !== undefined) return Object(inner);
    }
    const blobs = peek("blob");
    if (blobs?.bytesOf(value) !== undefined) {
      return value instanceof blobs.File
        ? new blobs.File([value], value.name, { type: value.type, lastModified: value.lastModified })
        : value.slice(0, value.size, value.type);
    }
    return undefined;
  }

  function refuseUncloneable(value) {
    if (typeof value === "function") refuse("a function");
    if (isProxy(value)) refuse("a proxy");
    const text = p.toString(value);
    const kind = p.substring(text, 8, text.length - 1);
    if (kind === "Object" || kind === "Array" || kind === "Arguments") return;
    // Objects whose content is hidden from us: a copy of their properties would be a lie.
    if (UNCLONEABLE[kind] === true || value[symbols.object] === kind) refuse(`a ${kind}`);
  }
  const UNCLONEABLE = { __proto__: null };
  for (const kind of ["WeakMap", "WeakSet", "WeakRef", "Promise", "Generator", "AsyncGenerator", "Request", "Response",
    "Headers", "FormData", "URL", "URLSearchParams", "ReadableStream", "WritableStream", "TransformStream",
    "AbortSignal", "AbortController", "CryptoKey", "SharedArrayBuffer"]) {
    UNCLONEABLE[kind] = true;
  }

  function clone(value, seen) {
    if (typeof value === "symbol") refuse("a symbol");
    if (value === null || (typeof value !== "object" && typeof value !== "function")) return value;
    const known = p.mapGet(seen, value);
    if (known !== undefined) return known;
    refuseUncloneable(value);
    const exotic = cloneExotic(value, seen);
    if (exotic !== undefined) {
      p.mapSet(seen, value, exotic);
      return exotic;
    }
    let fresh = {};
    if (p.isArray(value)) {
      fresh = [];
      fresh.length = value.length;
    }
    p.mapSet(seen, value, fresh);
    return cloneProperties(value, fresh, seen);
  }

  function structuredClone(value, options = undefined) {
    if (arguments.length === 0) throw new TypeError("structuredClone: a value is needed");
    const moved = options?.transfer === undefined ? [] : [...options.transfer];
    for (let i = 0; i < moved.length; i++) {
      if (probe(p.bufferBytes, moved[i]) === undefined) refuse("a value that is not an ArrayBuffer in transfer");
      if (moved[i].detached || p.indexOf(moved, moved[i]) !== i) refuse("a detached or repeated ArrayBuffer in transfer");
    }
    // The clone has its own bytes already when the originals are given up, so one that fails loses nothing.
    const fresh = clone(value, new p.Map());
    for (let i = 0; i < moved.length; i++) p.bufferTransfer(moved[i]);
    return fresh;
  }

  return { structuredClone };
})
