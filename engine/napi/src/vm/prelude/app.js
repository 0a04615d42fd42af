
// The `sampan` module as scripts see it: routes, groups, middleware and the builders of responses.
const { checkStatus, checkRedirect, check, checkPattern, unknownOption } = native;
const stackHere = () => new Error().stack;

function keepHandler(handler) {
  handlers.push(handler);
  return handlers.length - 1;
}

// Applies `opts` of a builder: a status, or `{ status, headers }`.
function build(name, type, body, opts) {
  const own = type === null ? [] : ["content-type", type];
  if (opts === undefined || opts === null) return response(200, own, body, null);
  const chosen = typeof opts === "number" ? opts : opts.status;
  const status = chosen ?? 200;
  if (status !== 200) checkStatus(name, status);
  const statusText = chosen === undefined || chosen === null ? null : "";
  if (typeof opts === "number") return response(status, own, body, statusText);
  check(name, "options", "options", opts);
  for (const key of keys(opts)) {
    if (key !== "status" && key !== "headers") unknownOption(name, key, "status", "headers");
  }
  return response(status, opts.headers === undefined ? own : listOf(opts.headers, type), body, statusText);
}
// A list of values is a field for each of them, which Set-Cookie needs (RFC 6265, section 3).
function listOf(given, type) {
  const isPlain = typeof given === "object" && given !== null && given[Symbol.iterator] === undefined;
  const headers = new Headers(isPlain ? undefined : given);
  if (isPlain) {
    for (const name of keys(given)) {
      const value = given[name];
      for (const one of isArray(value) ? value : [value]) headers.append(name, one);
    }
  }
  if (type !== null && !headers.has("content-type")) headers.set("content-type", type);
  return [...headers].flat();
}
const kindOf = (value) => (value === null ? "null" : isArray(value) ? "array" : typeof value);

const json = (value, opts) => build("json", types.json, stringify(value), opts);
function text(value, opts) {
  if (value instanceof Uint8Array) return build("text", types.text, value.slice(), opts);
  if (typeof value !== "string") check("text", "string", "body", value);
  return build("text", types.text, value, opts);
}
function html(value, opts) {
  if (typeof value !== "string") check("html", "string", "body", value);
  return build("html", types.html, value, opts);
}
function redirect(location, status = 302) {
  check("redirect", "string", "location", location);
  checkRedirect("redirect", status);
  return response(status, ["location", native.location("redirect", location)], null);
}
// A body that `produce` writes while it is sent. What `write` returns is fulfilled when there is room for more.
function stream(produce, opts) {
  check("stream", "function", "first argument", produce);
  let gone = false;
  let told = false;
  let room = () => {};
  let waiting = new Promise((resolve) => { room = resolve; });
  const encoder = new TextEncoder();
  // Who is told again and again must not keep the worker: from the second time on it takes a while.
  const leave = async () => {
    if (told) await new Promise((later) => { setTimeout(later, 10); });
    told = true;
    const error = new Error("stream: the client has gone away");
    error.code = "cancelled";
    throw error;
  };
  const body = new ReadableStream({
    start(controller) {
      // Not async: a chunk of a wrong type ends the stream even if nobody waits for the write.
      const write = (chunk) => {
        const isText = typeof chunk === "string";
        if (!isText && !(chunk instanceof Uint8Array)) {
          throw new TypeError(`stream: write takes a string or a Uint8Array, not ${kindOf(chunk)}`);
        }
        return put(isText ? encoder.encode(chunk) : chunk.slice());
      };
      const put = async (bytes) => {
        if (gone) return leave();
        controller.enqueue(bytes);
        if (controller.desiredSize > 0) return undefined;
        await waiting;
        return gone ? leave() : undefined;
      };
      const produced = async () => produce(write);
      then(produced(), () => { if (!gone) controller.close(); }, (error) => { if (!gone) controller.error(error); });
    },
    pull() {
      room();
      waiting = new Promise((resolve) => { room = resolve; });
    },
    cancel() {
      gone = true;
      room();
    },
  }, { highWaterMark: 1 });
  return build("stream", types.bytes, body, opts);
}
// The parts of a name such as `owner[pets][]`. Nothing for one that has none, or that is written in another way.
const NESTED_MAX = 8;
function nameParts(name) {
  const open = name.indexOf("[");
  if (open < 1 || !name.endsWith("]")) return undefined;
  const parts = name.slice(open + 1, -1).split("][");
  const isWhole = parts.every((part, at) => !/[[\]]/.test(part) && (part !== "" || at === parts.length - 1));
  return isWhole && parts.length < NESTED_MAX ? [name.slice(0, open), ...parts] : undefined;
}

// The objects and arrays that `nested` has made, none of which a client's value can be.
const NESTED_MADE = new WeakSet();

// What names with brackets mean: `owner[name]` is the field `name` of the object `owner`, `pets[]` an item of the array `pets`.
function nested(fields) {
  check("app.nested", "map", "fields", fields);
  const out = { __proto__: null };
  const twice = (name) => Object.assign(new Error(`${name} has another value beside it`), { status: 400 });
  for (const name of keys(fields)) {
    const parts = nameParts(name) ?? [name];
    const last = parts.pop();
    let into = out;
    for (const [at, part] of parts.entries()) {
      const known = into[part];
      if (known !== undefined && !NESTED_MADE.has(known)) throw twice(name);
      if (known === undefined) {
        const isList = last === "" && at === parts.length - 1;
        into[part] = isList ? [] : { __proto__: null };
        NESTED_MADE.add(into[part]);
      }
      into = into[part];
    }
    const value = fields[name];
    if (isArray(into) !== (last === "" && parts.length > 0)) throw twice(name);
    if (isArray(into)) into.push(...(isArray(value) ? value : [value]));
    else if (into[last] !== undefined) throw twice(name);
    else into[last] = value;
  }
  return out;
}
// The first value under a name of a query or form: names that come twice have an array.
const first = (value) => (isArray(value) ? value[0] : value);

// A row that gives an answer returns its body and its content type, or the path of a file, its content type and its disposition or false. Behind
// its own arguments are the options of a builder.
function withOptions(name, given, opts) {
  if (given.length === 2) return build(name, given[1], given[0], opts);
  const [path, type, disposition] = given;
  const made = build(name, type, new FileBody(path), opts);
  if (disposition !== false && !made.headers.has("content-disposition")) made.headers.set("content-disposition", disposition);
  return made;
}
const { modules, addedMethods } = native;
const builders = { json, html, text, redirect, stream, first };
for (const [owner, name, count] of native.answering) {
  const table = owner === "req" ? addedMethods : modules[owner];
  const call = table[name];
  table[name] = function (...args) {
    return withOptions(name, apply(call, this, args.slice(0, count)), args[count]);
  };
  if (owner === "app") builders[name] = table[name];
}
for (const module of keys(modules)) for (const name of keys(modules[module])) modules[module][name] = whole(modules[module][name], name);
for (const name of keys(addedMethods)) {
  const method = whole(addedMethods[name], name);
  addedMethods[name] = method;
  defineProperty(RouteRequest.prototype, name, { value: method, writable: true, configurable: true });
}

// The third argument of a `fetch` export. It has what a route's request has beyond the Web's: in the request itself a router would take that for
// its own.
class FetchContext {
  #request;
  constructor(request) { this.#request = request; }
  // It goes on after the answer by itself.
  waitUntil(promise) { then(resolved(promise), undefined, native.report); }
  passThroughOnException() {}
  static of(context) { return context.#request; }
}
const requestOf = FetchContext.of;
delete FetchContext.of;
for (const name of ["ip", "state", ...native.addedFields.map(([field]) => field)]) {
  defineProperty(FetchContext.prototype, name, { get() { return requestOf(this)[name]; }, configurable: true });
}
for (const name of keys(addedMethods)) {
  defineProperty(FetchContext.prototype, name, { value(...args) { return apply(addedMethods[name], requestOf(this), args); } });
}
// The default export of the entry file, if it has `fetch`: the handler's number and how it wants bodies.
function served(namespace) {
  let target = namespace?.default;
  // A CommonJS file that was loaded as one, or a module that was loaded by `require`.
  if (typeof target?.fetch !== "function" && typeof target?.default?.fetch === "function") target = target.default;
  if ((typeof target !== "object" && typeof target !== "function") || target === null || typeof target.fetch !== "function") return undefined;
  const { fetch } = target;
  fetchNumber = keepHandler(async (request) => {
    const key = requestKey(request);
    return apply(fetch, target, [request, {}, new FetchContext(new RouteRequest(key))]);
  });
  // A router such as itty-router's has a function under every name that it does not have itself.
  const own = (name) => (hasOwn(target, name) ? target[name] : undefined);
  const [limit, compress, stream, etag] = ["bodyBytesMax", "compress", "stream", "etag"].map(own);
  const isUncompressed = compress !== undefined && compress !== null && compress !== true;
  return [fetchNumber, limit === undefined || limit === null ? undefined : String(limit), stream === true, isUncompressed, etag === true];
}

const OPTION_NAMES = ["bodyBytesMax", "compress", "etag", "name", "stream"];
function routeOptions(owner, opts) {
  check(owner, "map", "options", opts);
  for (const key of keys(opts)) if (!OPTION_NAMES.includes(key)) unknownOption(owner, key, ...OPTION_NAMES);
  const { bodyBytesMax: limit, compress = true, etag = false, name, stream: isStream = false } = opts;
  check(owner, "boolean", "option 'compress'", compress);
  check(owner, "boolean", "option 'etag'", etag);
  if (name !== undefined) check(owner, "string", "option 'name'", name);
  check(owner, "boolean", "option 'stream'", isStream);
  // Checked where the routes are arranged, for both languages.
  return { limit: limit === undefined ? undefined : String(limit), isStream, compress, etag, name };
}
// `/api` + `/users` is `/api/users`; a group's own "/" is the prefix itself.
const joined = (prefix, pattern) => (prefix === "" ? pattern : pattern === "/" ? prefix : prefix + pattern);
const verbs = { get: "GET", post: "POST", put: "PUT", patch: "PATCH", delete: "DELETE", options: "OPTIONS", all: null };
// Whether a value is nothing but options: then its handler was forgotten.
function isOptions(value) {
  if (typeof value !== "object" || value === null) return false;
  const names = keys(value);
  return names.length > 0 && names.every((key) => OPTION_NAMES.includes(key));
}
function declareVerb(owner, prefix, verb) {
  const name = `app.${verb}`;
  owner[verb] = (...args) => {
    const [pattern, options] = args;
    check(name, "string", "pattern", pattern);
    checkPattern(name, pattern);
    const given = args.length > 2 ? routeOptions(name, options) : { compress: true };
    const handler = args.length > 2 ? args[2] : isOptions(options) ? undefined : options;
    if (handler === undefined) check(name, "function", "handler", handler);
    const isFixed = typeof handler !== "function";
    native.route(verbs[verb], joined(prefix, pattern), keepHandler(handler), isFixed, given.limit, given.isStream, stackHere(),
      !given.compress, given.name, given.etag);
    return owner;
  };
}
// A native object that asks a function of the script, as middleware.
function asking(object, asked) {
  return (request, next) => {
    let returned = apply(asked, undefined, native.ask(object, request));
    // Query builders are no promises but have a `then`: what they give decides, not they themselves.
    if (!isPromise(returned) && typeof returned?.then === "function") returned = resolved(returned);
    if (!isPromise(returned)) {
      native.decide(object, request, returned);
      return next();
    }
    return then(returned, (value) => {
      native.decide(object, request, value);
      return next();
    });
  };
}
function router(owner, prefix) {
  for (const verb of keys(verbs)) declareVerb(owner, prefix, verb);
  owner.use = (...args) => {
    const given = args.length > 1 ? args[1] : args[0];
    const asked = native.nativeMiddleware(given);
    if (asked === undefined) check("app.use", "function", "middleware", given);
    const handler = keepHandler(typeof asked === "function" ? asking(given, asked) : given);
    const guard = asked === null ? given : undefined;
    if (args.length === 1 || args[0] === "*") {
      // A group's prefix and everything below it.
      native.use(prefix === "" ? "*" : `${prefix}/*`, handler, guard, stackHere());
    } else {
      check("app.use", "string", "pattern", args[0]);
      checkPattern("app.use", args[0]);
      native.use(joined(prefix, args[0]), handler, guard, stackHere());
    }
    return owner;
  };
  owner.group = (path, fill) => {
    check("app.group", "string", "pattern", path);
    checkPattern("app.group", path);
    check("app.group", "function", "second argument", fill);
    const prefixed = joined(prefix, path);
    fill(router({}, prefixed.endsWith("/") ? prefixed.slice(0, -1) : prefixed));
    return owner;
  };
  return owner;
}
const app = router({}, "");
app.notFound = (handler) => {
  check("app.notFound", "function", "handler", handler);
  native.notFound(keepHandler(handler), stackHere());
  return app;
};
app.nested = nested;
app.onError = (handler) => {
  check("app.onError", "function", "handler", handler);
  native.onError(keepHandler(handler), stackHere());
  return app;
};
app.runtime = "js";
app.version = native.version;
app.worker = freeze(native.worker);
assign(app, builders);
for (const name of keys(modules)) {
  // The functions of the module `app` are its own, and the module `json` and the builder `json` are one.
  if (name === "app") assign(app, { ...modules[name], ...builders });
  else if (hasOwn(builders, name)) assign(builders[name], modules[name]);
  else app[name] = modules[name];
}

// What the language prints goes to the log.
if (native.format !== undefined) {
  const print = (level) => (...args) => native.console(level, native.format(...args));
  const levels = { log: "info", info: "info", debug: "debug", trace: "debug", warn: "warn", error: "error" };
  for (const name of keys(levels)) console[name] = print(levels[name]);
}

// Where tests may set the time, dates follow it.
if (native.now !== undefined) {
  const RealDate = Date;
  globalThis.Date = class extends RealDate {
    constructor(...parts) {
      if (parts.length === 0) super(native.now());
      else super(...parts);
    }
    static now() { return native.now(); }
  };
}

// What nothing catches is told by the platform, for the program goes on.
native.uncaught((error, isRejection) => {
  try {
    native.report(error, isRejection ? "unhandled rejection: " : "");
  } catch {
    // The server has ended, and its log with it.
  }
});

const exports = { app, default: app };
for (const name of keys(builders)) exports[name] = builders[name];
for (const name of keys(modules)) exports[name] ??= modules[name];
return {
  exports, run, take, next, classify, keyOf, store, describe, served, follow, ended, afterMicrotasks, drop, cancelStream, abort, requestEnded, requestKey,
  forgetAdded, isCyclic, toJson, ofMap, keysOfMap, rowsOf, append, newObject, waitingFunction, unfinished, stringify, here, toError, lastThrown, shown,
};
