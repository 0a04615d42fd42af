
// What an object is, for native code.
const PLAIN = 0, LIST = 1, BUFFER = 2, PROMISE = 3, MAP = 4, SET = 5, NATIVE = 6, OTHER = 7, DATE = 8;
const isBuffer = (value) => ArrayBuffer.isView(value) || value instanceof ArrayBuffer;
function classify(value) {
  const prototype = getPrototypeOf(value);
  if (prototype === objectPrototype || prototype === null) return natives.has(value) ? NATIVE : PLAIN;
  if (isArray(value)) return LIST;
  if (isBuffer(value)) return BUFFER;
  if (value instanceof Promise) return PROMISE;
  if (value instanceof Map) return MAP;
  if (value instanceof Set) return SET;
  if (value instanceof Date) return DATE;
  return natives.has(value) ? NATIVE : OTHER;
}
// The class of an object that holds no plain data, which would be passed on as `{}`; `undefined` for others.
function classWithoutData(value) {
  if (value instanceof Error) return "Error";
  if (value instanceof RegExp) return "RegExp";
  if (value instanceof PlatformRequest) return "Request";
  if (isResponse(value)) return "Response";
  if (value instanceof Headers) return "Headers";
  if (value instanceof URLSearchParams) return "URLSearchParams";
  if (value instanceof FormData) return "FormData";
  if (value instanceof Blob) return "Blob";
  return value instanceof ReadableStream ? "ReadableStream" : undefined;
}
function isCyclic(value, inside = new Set()) {
  if (typeof value !== "object" || value === null) return false;
  if (inside.has(value)) return true;
  inside.add(value);
  for (const key of keys(value)) if (isCyclic(value[key], inside)) return true;
  inside.delete(value);
  return false;
}
const toJson = (value) => value.toJSON();
const dateText = (date) => (Number.isNaN(date.getTime()) ? "Invalid Date" : date.toISOString());
const ofMap = (map, key) => map.get(key);
const keysOfMap = (map) => [...map.keys()].filter((key) => typeof key === "string" || typeof key === "number");

// Rows of a query. A literal gives all of them one shape.
function rowsOf(names) {
  const count = names.length;
  const members = names.map((name, at) => `[${JSON.stringify(name)}]: cells[at + ${at}]`);
  if (names.every((name) => name !== "__proto__")) {
    members.forEach((_, at) => { members[at] = `${JSON.stringify(names[at])}: cells[at + ${at}]`; });
  }
  const body = `return (...cells) => {
    const rows = [];
    for (let at = 0; at < cells.length; at += ${count}) rows.push({ ${members.join(", ")} });
    return rows;
  };`;
  return new Function(body)();
}
function append(all, more) {
  for (const row of more) all.push(row);
  return all;
}

// Native objects, each with the number of its slot. Scripts can reach neither.
const natives = new WeakMap();
const forgotten = new FinalizationRegistry((key) => native.forget(key));
const keyOf = (value) => (typeof value === "object" && value !== null ? natives.get(value) : undefined);
const classes = create(null);
for (const name of keys(native.classes)) {
  const [methods, isKeyed] = native.classes[name];
  const prototype = create(objectPrototype);
  for (const method of keys(methods)) {
    defineProperty(prototype, method, { value: methods[method], writable: true, configurable: true });
  }
  const constructor = { [name]: function () { throw new TypeError(`${name} cannot be made by a script`); } }[name];
  defineProperty(prototype, "constructor", { value: constructor, writable: true, configurable: true });
  defineProperty(prototype, Symbol.toStringTag, { value: name, configurable: true });
  classes[name] = { prototype, isKeyed };
}
function newObject(name, key) {
  const { prototype, isKeyed } = classes[name];
  const plain = create(prototype);
  const object = isKeyed ? new Proxy(plain, keyedTraps) : plain;
  natives.set(object, key);
  if (isKeyed) natives.set(plain, key);
  forgotten.register(plain, key);
  return object;
}
// An object with keys of the script's own: `get`, `set` and `keys` of its class answer.
const keyedTraps = {
  get(target, key, receiver) {
    if (typeof key === "symbol" || key in target) return Reflect.get(target, key, receiver);
    return native.keyed(target, "get", key) ?? undefined;
  },
  set(target, key, value) {
    if (typeof key === "symbol") throw new Error(`a ${target[Symbol.toStringTag]} has no symbols as keys`);
    native.keyed(target, "set", key, value);
    return true;
  },
  has: (target, key) => key in target || (typeof key === "string" && (native.keyed(target, "get", key) ?? undefined) !== undefined),
  deleteProperty(target, key) {
    native.keyed(target, "set", key, null);
    return true;
  },
  defineProperty(target, key, descriptor) {
    native.keyed(target, "set", key, descriptor.value);
    return true;
  },
  ownKeys: (target) => native.keyed(target, "keys"),
  getOwnPropertyDescriptor(target, key) {
    if (typeof key === "symbol" || key in target) return undefined;
    const value = native.keyed(target, "get", key) ?? undefined;
    return value === undefined ? undefined : { value, writable: true, enumerable: true, configurable: true };
  },
};

// What a function is called whose work is not done when it returns, and a result of one.
const AsyncFunction = (async () => {}).constructor;
const GeneratorFunction = (function* () {}).constructor;
const AsyncGeneratorFunction = (async function* () {}).constructor;
function waitingFunction(fn) {
  if (fn instanceof AsyncGeneratorFunction) return "an async generator function";
  if (fn instanceof AsyncFunction) return "an async function";
  if (fn instanceof GeneratorFunction) return "a generator function";
  return undefined;
}
const inherits = (prototype, value) => apply(objectPrototype.isPrototypeOf, prototype, [value]);
const generatorPrototype = GeneratorFunction.prototype.prototype;
const asyncGeneratorPrototype = AsyncGeneratorFunction.prototype.prototype;
const iteratorPrototype = getPrototypeOf(generatorPrototype);
function unfinished(value) {
  if (typeof value !== "object" || value === null) return undefined;
  if (value instanceof Promise) {
    // The error of the bracket stands for it.
    then(value, undefined, () => {});
    return "a promise";
  }
  if (inherits(generatorPrototype, value) || inherits(asyncGeneratorPrototype, value)) return "a generator, which has not run";
  return typeof value.then === "function" ? "a thenable" : undefined;
}

// JSON by the rules of an answer: a BigInt has its digits, and what would be `{}` though it holds something is refused.
const { refused } = native;
function refusal(value) {
  if (value instanceof Promise) return refused.promise;
  if (value instanceof Map) return refused.map;
  if (value instanceof Set) return refused.set;
  if (value instanceof Error) return refused.error;
  if (isBuffer(value)) return refused.bytes;
  if (value instanceof PlatformRequest) return refused.request;
  if (natives.has(value)) return refused.object;
  if (value instanceof Blob) return refused.blob;
  if (value instanceof ReadableStream) return refused.stream;
  if (isResponse(value)) return refused.response;
  if (value instanceof RegExp) return refused.regexp;
  if (inherits(generatorPrototype, value)) return refused.generator;
  if (inherits(asyncGeneratorPrototype, value)) return refused.asyncGenerator;
  if (inherits(iteratorPrototype, value)) return refused.iterator;
  if (value instanceof WeakMap || value instanceof WeakSet) return refused.weak;
  if (value instanceof FormData || value instanceof Headers || value instanceof URLSearchParams) return refused.pairs;
  return undefined;
}
function refuse(value, key) {
  const found = refusal(value);
  if (found !== undefined) native.noJson(key, found[0], found[1]);
}
const tooDeep = (key) => native.noJson(key, `a value that contains itself or nests more than ${native.jsonDepthMax} deep`);
// Looks at everything that will be written. True where there may be a BigInt, which `JSON.stringify` does not know.
function inspect(value, key, depthLeft) {
  if (typeof value === "bigint") return true;
  if (typeof value !== "object" || value === null) return false;
  if (depthLeft === 0) tooDeep(key);
  const prototype = getPrototypeOf(value);
  let has = false;
  if (prototype === Array.prototype) {
    for (let at = 0; at < value.length; at += 1) {
      const item = value[at];
      if (typeof item === "object" || typeof item === "bigint") has = inspect(item, String(at), depthLeft - 1) || has;
    }
    return has;
  }
  if (prototype !== objectPrototype) {
    if (typeof value.toJSON === "function") return !(value instanceof Date);
    if (prototype !== null || natives.has(value)) refuse(value, key);
  }
  for (const name in value) {
    const member = value[name];
    if (typeof member === "function") has ||= name === "toJSON";
    else if ((typeof member === "object" || typeof member === "bigint") && hasOwn(value, name)) has = inspect(member, name, depthLeft - 1) || has;
  }
  return has;
}
const stringifyPlain = JSON.stringify;
// Writes the JSON of a value as `JSON.stringify` does, but that a BigInt has its digits.
function write(value, key, depthLeft) {
  const isPrimitive = value === null || (typeof value !== "object" && typeof value !== "function" && typeof value !== "bigint");
  if (!isPrimitive) {
    const { toJSON } = value;
    if (typeof toJSON === "function") value = apply(toJSON, value, [key]);
    else if (typeof value === "object") refuse(value, key);
  }
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null || value instanceof Number || value instanceof String || value instanceof Boolean) {
    return stringifyPlain(value);
  }
  if (depthLeft === 0) tooDeep(key);
  const parts = [];
  if (isArray(value)) {
    for (let at = 0; at < value.length; at += 1) parts.push(write(value[at], String(at), depthLeft - 1) ?? "null");
    return `[${parts.join(",")}]`;
  }
  for (const name of keys(value)) {
    const text = write(value[name], name, depthLeft - 1);
    if (text !== undefined) parts.push(`${stringifyPlain(name)}:${text}`);
  }
  return `{${parts.join(",")}}`;
}
// The JSON of a value; `undefined` for what has none.
const textOf = (value) => (inspect(value, "", native.jsonDepthMax) ? write(value, "", native.jsonDepthMax) : stringifyPlain(value));
function withoutJson(value) {
  if (typeof value === "function") return "a function";
  if (typeof value === "object") return "an object whose toJSON gives nothing";
  return value === undefined ? "undefined" : "a symbol";
}
function stringify(value) {
  const text = textOf(value);
  if (text === undefined) native.noJson("", withoutJson(value));
  return text;
}
