// First file of the Web surface, the only one that runs at start. It keeps the intrinsics that the
// other files rely on (before a script can patch them), takes the engine's hooks, and puts lazy
// globals in place; every other file is compiled when one of its globals is touched.
(function boot(compile, natives, version) {
  const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf, freeze } = Object;
  const { apply, ownKeys, get: reflectGet } = Reflect;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const getter = (object, key) => uncurry(getOwnPropertyDescriptor(object, key).get);
  const bytesProto = Uint8Array.prototype;
  const typedProto = getPrototypeOf(bytesProto);
  const bufferProto = ArrayBuffer.prototype;
  const viewProto = DataView.prototype;

  // Intrinsics as they were at start: a script that patches `Array.prototype.join` must not be able
  // to change how a header or a multipart body is written.
  const p = freeze({
    __proto__: null,
    uncurry, getter, apply, ownKeys, reflectGet,
    defineProperty, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf, freeze,
    keys: Object.keys,
    isArray: Array.isArray,
    isView: ArrayBuffer.isView,
    push: uncurry(Array.prototype.push),
    shift: uncurry(Array.prototype.shift),
    splice: uncurry(Array.prototype.splice),
    slice: uncurry(Array.prototype.slice),
    join: uncurry(Array.prototype.join),
    sort: uncurry(Array.prototype.sort),
    indexOf: uncurry(Array.prototype.indexOf),
    lower: uncurry(String.prototype.toLowerCase),
    upper: uncurry(String.prototype.toUpperCase),
    wellFormed: uncurry(String.prototype.toWellFormed),
    charCode: uncurry(String.prototype.charCodeAt),
    substring: uncurry(String.prototype.substring),
    stringIndexOf: uncurry(String.prototype.indexOf),
    replaceAll: uncurry(String.prototype.replaceAll),
    then: uncurry(Promise.prototype.then),
    queueMicrotask,
    resolved: Promise.resolve.bind(Promise),
    rejected: Promise.reject.bind(Promise),
    pack: uncurry(bytesProto.toBase64),
    setBytes: uncurry(typedProto.set),
    typedTag: getter(typedProto, Symbol.toStringTag),
    typedBuffer: getter(typedProto, "buffer"),
    typedOffset: getter(typedProto, "byteOffset"),
    typedBytes: getter(typedProto, "byteLength"),
    typedLength: getter(typedProto, "length"),
    viewBuffer: getter(viewProto, "buffer"),
    viewOffset: getter(viewProto, "byteOffset"),
    viewBytes: getter(viewProto, "byteLength"),
    bufferBytes: getter(bufferProto, "byteLength"),
    bufferSlice: uncurry(bufferProto.slice),
    bufferTransfer: uncurry(bufferProto.transfer),
    mapGet: uncurry(Map.prototype.get),
    mapSet: uncurry(Map.prototype.set),
    mapHas: uncurry(Map.prototype.has),
    mapDelete: uncurry(Map.prototype.delete),
    mapEach: uncurry(Map.prototype.forEach),
    mapSize: getter(Map.prototype, "size"),
    setAdd: uncurry(Set.prototype.add),
    setEach: uncurry(Set.prototype.forEach),
    setSize: getter(Set.prototype, "size"),
    deref: uncurry(WeakRef.prototype.deref),
    dateTime: uncurry(Date.prototype.getTime),
    hasOwn: uncurry(Object.prototype.hasOwnProperty),
    toString: uncurry(Object.prototype.toString),
    now: Date.now,
    millis: performance.now.bind(performance),
    min: Math.min,
    floor: Math.floor,
    stringify: JSON.stringify,
    parse: JSON.parse,
    Map, Set, Promise, Uint8Array, ArrayBuffer, DataView, TypeError, RangeError, String, Number, Symbol,
    DOMException, WeakRef,
  });

  // The callbacks would run in the request that happens to collect the garbage, and count for its limits.
  delete globalThis.FinalizationRegistry;

  // The engine's hooks leave the global object with the start.
  const host = { __proto__: null };
  for (const name of ["log", "report", "sleep", "cancel", "hidden"]) {
    const key = "__host_" + name;
    if (typeof globalThis[key] !== "function") {
      throw new TypeError(`${key} must be a function before the Web surface is installed`);
    }
    host[name] = globalThis[key];
    delete globalThis[key];
  }
  // The rows that send requests to other servers (`Module::sends_requests`), once the engine has bound them.
  host.client = undefined;

  // Keys of the engine contract (see mod.rs), under which scripts do not see what is kept.
  const symbols = { __proto__: null };
  for (const name of ["status", "statusText", "headers", "list", "body", "used", "source", "file", "take", "read",
    "method", "url", "redirected", "signal", "immutable", "options", "error", "kind", "object", "incoming"]) {
    symbols[name] = host.hidden(name);
  }
  freeze(symbols);

  // A lone surrogate has no UTF-8; everything that goes to native code passes through here.
  const usv = (value) => p.wellFormed(`${value}`);

  // A function that is given fewer arguments than it needs throws (Web IDL). `given` are its `arguments`.
  function need(count, given, name) {
    if (given.length < count) {
      throw new p.TypeError(`${name}: ${count === 1 ? "an argument is" : `${count} arguments are`} needed`);
    }
  }

  // A Uint8Array over the memory of an ArrayBuffer or of any view, without copying; undefined for others.
  function view(value) {
    if (typeof value !== "object" || value === null) return undefined;
    const tag = p.typedTag(value);
    if (tag === "Uint8Array") return value;
    if (tag !== undefined) return new p.Uint8Array(p.typedBuffer(value), p.typedOffset(value), p.typedBytes(value));
    if (p.isView(value)) return new p.Uint8Array(p.viewBuffer(value), p.viewOffset(value), p.viewBytes(value));
    try {
      p.bufferBytes(value);
    } catch {
      return undefined;
    }
    return new p.Uint8Array(value);
  }

  // A Uint8Array that shares nothing with its source (no species look-up, so no user code runs).
  function copy(bytes) {
    const fresh = new p.Uint8Array(p.typedLength(bytes));
    p.setBytes(fresh, bytes);
    return fresh;
  }

  function concat(parts) {
    let length = 0;
    for (let i = 0; i < parts.length; i++) length += p.typedLength(parts[i]);
    const all = new p.Uint8Array(length);
    for (let i = 0, at = 0; i < parts.length; i++) {
      p.setBytes(all, parts[i], at);
      at += p.typedLength(parts[i]);
    }
    return all;
  }

  // The exact ArrayBuffer of a Uint8Array that we own.
  function bufferOf(bytes) {
    const buffer = p.typedBuffer(bytes);
    return p.bufferBytes(buffer) === p.typedLength(bytes) ? buffer : p.typedBuffer(copy(bytes));
  }

  function tag(ctor, name) {
    defineProperty(ctor.prototype, Symbol.toStringTag, { value: name, configurable: true });
    defineProperty(ctor.prototype, symbols.kind, { value: name });
  }

  // An error that no promise carries (of a timer, of a listener) goes where unhandled rejections go.
  const { report } = host;

  // The call sites that `Error.prepareStackTrace` is given name functions, and would hand out those of this surface. V8 does not
  // either, for strict code.
  let site;
  Error.prepareStackTrace = (_, sites) => { site = sites[0]; };
  void new Error().stack;
  Error.prepareStackTrace = undefined;
  defineProperty(getPrototypeOf(site), "getFunction", { value: () => undefined, configurable: true, writable: true });

  const loaded = { __proto__: null };
  function load(name) {
    const known = loaded[name];
    if (known !== undefined) return known;
    return (loaded[name] = compile(name)(web));
  }

  // The exports of a file if it is loaded: where it is not, no value can be of a class of it.
  const peek = (name) => loaded[name];

  const nativeTables = { __proto__: null };
  const native = (name) => nativeTables[name] ?? (nativeTables[name] = natives(name));

  // Methods of a prototype that exists before its file is loaded (native objects of the engine
  // inherit from it from the start): the first use of any of them loads the file, which replaces all.
  function lazyPrototype(file, names) {
    const proto = {};
    const kind = p.upper(file[0]) + p.substring(file, 1);
    defineProperty(proto, symbols.kind, { configurable: true, value: kind });
    for (const name of names) {
      defineProperty(proto, name, {
        configurable: true,
        get() {
          load(file);
          return reflectGet(proto, name, this);
        },
      });
    }
    return proto;
  }

  // Moves the members of classes onto such a prototype and makes it the constructor's.
  function adopt(ctor, proto, ...classes) {
    for (const key of ownKeys(proto)) delete proto[key];
    for (const { prototype: members } of classes) {
      for (const key of ownKeys(members)) defineProperty(proto, key, getOwnPropertyDescriptor(members, key));
    }
    defineProperty(proto, "constructor", { value: ctor, writable: true, configurable: true });
    defineProperty(ctor, "prototype", { value: proto, writable: false });
    tag(ctor, ctor.name);
  }

  const consume = ["body", "bodyUsed", "arrayBuffer", "blob", "bytes", "formData", "json", "text", "clone"];
  const protos = freeze({
    __proto__: null,
    request: lazyPrototype("request", [...consume, "method", "url", "headers", "signal", "cache",
      "credentials", "destination", "duplex", "integrity", "keepalive", "mode", "redirect", "referrer",
      "referrerPolicy"]),
    response: lazyPrototype("response", [...consume, "headers", "ok", "redirected", "status", "statusText",
      "type", "url"]),
    headers: lazyPrototype("headers", ["append", "delete", "entries", "forEach", "get", "getSetCookie",
      "has", "keys", "set", "values", Symbol.iterator]),
  });

  const web = freeze({
    __proto__: null,
    p, symbols, host, version, protos, load, peek, native, adopt, tag, report, need, usv, view, copy, concat, bufferOf,
  });

  const globals = {
    __proto__: null,
    console: ["console"],
    timers: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"],
    url: ["URL", "URLSearchParams"],
    encoding: ["TextEncoder", "TextDecoder"],
    encoding_streams: ["TextEncoderStream", "TextDecoderStream"],
    headers: ["Headers"],
    request: ["Request"],
    response: ["Response"],
    fetch: ["fetch"],
    formdata: ["FormData"],
    blob: ["Blob", "File"],
    readable: ["ReadableStream", "ReadableStreamDefaultReader", "ReadableStreamDefaultController",
      "CountQueuingStrategy", "ByteLengthQueuingStrategy"],
    writable: ["WritableStream", "WritableStreamDefaultWriter", "WritableStreamDefaultController"],
    transform: ["TransformStream", "TransformStreamDefaultController"],
    events: ["Event", "CustomEvent", "EventTarget"],
    abort: ["AbortController", "AbortSignal"],
    crypto: ["crypto", "Crypto", "CryptoKey", "SubtleCrypto"],
    clone: ["structuredClone"],
  };
  // A global becomes an ordinary property when it is touched or assigned.
  function settle(name, value) {
    defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
    return value;
  }
  for (const file in globals) {
    for (const name of globals[file]) {
      defineProperty(globalThis, name, {
        configurable: true,
        enumerable: false,
        get: () => settle(name, load(file)[name]),
        set: (value) => void settle(name, value),
      });
    }
  }

  // QuickJS-ng takes an argument that is missing for the text "undefined".
  for (const name of ["atob", "btoa"]) {
    const original = globalThis[name];
    const checked = {
      [name](text) {
        need(1, arguments, name);
        return original(text);
      },
    };
    settle(name, checked[name]);
  }

  // QuickJS-ng counts `timeOrigin` from the machine's start; the standard wants Unix time.
  const timeOrigin = p.now() - p.millis();
  defineProperty(globalThis, "performance", {
    value: { now: () => p.millis(), timeOrigin, toJSON: () => ({ timeOrigin }) }, writable: true, configurable: true,
  });
  defineProperty(globalThis, "self", { value: globalThis, writable: true, configurable: true });
  defineProperty(globalThis, "navigator", {
    value: { userAgent: `Sampan/${version}` }, writable: true, configurable: true,
  });

  // What native code calls; the engine takes this object and removes it from the global object.
  defineProperty(globalThis, Symbol.for("sampan.web"), {
    configurable: true,
    value: freeze({
      __proto__: null,
      requestPrototype: protos.request,
      responsePrototype: protos.response,
      headersPrototype: protos.headers,
      bodyStream: (request) => load("stream_bodies").fromRequest(request),
      open: (stream) => load("stream_bodies").openForHost(stream),
      asBody: (value) => load("body").asBody(value),
      cancel: (stream, reason) => load("stream_bodies").cancelForHost(stream, reason),
      abort: (signal, reason) => load("abort").abortSignal(signal, reason),
      useClient(client) { host.client = client; },
    }),
  });
})
