// Routes, groups, and the module itself.

// Reports whether a declaration got no options in front of its function, but perhaps `undefined` behind it.
const isAlone = (args) => args.length < 3 || (typeof args[1] === "function" && args[2] === undefined);

// The place where a route or middleware was declared: native code reads it from the stack of this error.
const here = () => new Error().stack;

// Refuses arguments behind those that a declaration takes: a second function would never run.
const ONE_FUNCTION = "it takes one function: call it again for each further one";
const ONE_HANDLER = "it takes one handler: declare what runs before it with app.use";
function refuseMore(name, text, more) {
  if (more.some((value) => value !== undefined)) throw new TypeError(`${name}: ${text}`);
}

// A function of a group or a host without parameters can declare nothing of it.
const functionText = Function.prototype.toString;
const NO_PARAMETER = /^(?:async\s*)?(?:function\s*[\w$]*\s*)?\(\s*\)/;
function checkFill(name, fill, more) {
  check(name, "function", "second argument", fill);
  refuseMore(name, "it takes one function: declare middleware inside of it", more);
  const text = apply(functionText, fill, []);
  if (NO_PARAMETER.test(text) && !/\barguments\b|\[native code\]/.test(text)) {
    throw new TypeError(`${name}: its function declares by its parameter: (site) => site.get(...)`);
  }
}

// Refuses middleware in the place of options or of a handler: it would never run.
function refuseMiddleware(name, ...given) {
  refuseMore(name, ONE_HANDLER, given.filter((value) => native.nativeMiddleware(value) !== undefined));
}

const ROUTE_OPTIONS = ["bodyBytesMax", "compress", "etag", "name", "priority", "slow", "stream"];
function routeOptions(owner, opts) {
  check(owner, "map", "options", opts);
  for (const key of keys(opts)) if (!ROUTE_OPTIONS.includes(key)) unknownOption(owner, key, ...ROUTE_OPTIONS);
  const {
    bodyBytesMax: limit, compress = true, etag = false, name, priority = "normal", slow, stream: isStream = false,
  } = opts;
  check(owner, "boolean", "option 'compress'", compress);
  check(owner, "boolean", "option 'etag'", etag);
  if (name !== undefined) check(owner, "string", "option 'name'", name);
  check(owner, "boolean", "option 'stream'", isStream);
  if (slow !== undefined) check(owner, "boolean", "option 'slow'", slow);
  check(owner, "string", "option 'priority'", priority);
  if (priority !== "high" && priority !== "normal") {
    throw new TypeError(`${owner}: option 'priority' must be 'high' or 'normal', not '${priority}'`);
  }
  const isUrgent = priority === "high";
  // Checked where the routes are arranged, for both languages.
  const written = limit === undefined ? undefined : String(limit);
  return { limit: written, isStream, isUncompressed: !compress, etag, name, slow, isUrgent };
}
const NO_OPTIONS = {
  limit: undefined, isStream: false, isUncompressed: false, etag: false, name: undefined, slow: undefined,
  isUrgent: false,
};

// Reports whether a value is nothing but options: then its handler was forgotten.
function isOptions(value) {
  if (typeof value !== "object" || value === null) return false;
  const names = keys(value);
  return names.length > 0 && names.every((name) => ROUTE_OPTIONS.includes(name));
}

// `/api` + `/users` is `/api/users`; a group's own "/" is the prefix itself. That of a host has no path yet.
const joined = (prefix, pattern) => (pattern === "/" && prefix.includes("/") ? prefix : prefix + pattern);

const verbs = { get: "GET", post: "POST", put: "PUT", patch: "PATCH", delete: "DELETE", options: "OPTIONS", all: null };

// `kind` is the name of the function of a module that declares the route, where one does.
function declareRoute(prefix, verb, args, kind) {
  const name = `app.${verb}`;
  const [pattern, options] = args;
  check(name, "string", "pattern", pattern);
  checkPattern(name, pattern);
  const isSecond = typeof options === "function" && typeof args[2] === "function";
  refuseMore(name, ONE_HANDLER, args.slice(isSecond ? 2 : 3));
  refuseMiddleware(name, options, args[2]);
  const given = isAlone(args) ? NO_OPTIONS : routeOptions(name, options);
  const handler = !isAlone(args) ? args[2] : isOptions(options) ? undefined : options;
  if (handler === undefined) check(name, "function", "handler", handler);
  const { limit, isStream, isUncompressed, etag, slow, isUrgent } = given;
  const isFixed = typeof handler !== "function";
  // Not every engine knows the file.
  const file = isFixed ? undefined : handler.fileName;
  native.route(verbs[verb], joined(prefix, pattern), here(), keepHandler(handler), isFixed, given.name,
    limit, isStream, isUncompressed, etag, slow === true, slow === false, isUrgent, file, kind);
}

// A native object that asks a function of the script, as middleware.
function asking(object, asked) {
  return (request, next) => {
    const returned = awaited(apply(asked, undefined, native.ask(object, request)));
    // True where the request has its answer already.
    const decided = (value) => (native.decide(object, request, value) ? undefined : next());
    return isPromise(returned) ? then(returned, decided) : decided(returned);
  };
}

// The names of the functions of the module itself.
const ownFunctions = new Map();
for (const name of keys(modules.app ?? {})) ownFunctions.set(modules.app[name], `app.${name}`);

function router(owner, prefix) {
  for (const verb of keys(verbs)) {
    owner[verb] = (...args) => {
      declareRoute(prefix, verb, args);
      return owner;
    };
  }
  // Routes that modules answer: the functions of their declaration are for events, the rest are options.
  for (const kind of keys(routeKinds)) {
    const [title, named] = [`app.${kind}`, capital(kind)];
    const [answerKind, keepKind] = [addedMethods[`answer${named}`], addedMethods[`keep${named}`]];
    owner[kind] = (pattern, given, ...more) => {
      check(title, "string", "pattern", pattern);
      checkPattern(title, pattern);
      refuseMiddleware(title, given);
      check(title, "map", "second argument", given);
      refuseMore(title, "it takes only a pattern and an object of options and functions", more);
      const [options, functions] = [{}, {}];
      for (const key of keys(given)) (typeof given[key] === "function" ? functions : options)[key] = given[key];
      const { upgrade } = functions;
      delete functions.upgrade;
      const route = routeKinds[kind](joined(prefix, pattern), options);
      for (const event of keys(functions)) route.on(event, functions[event]);
      const accept = (request, data) => {
        if (isThrownResponse(data)) return data;
        if (data !== undefined && typeof data !== "object") check(title, "map", "result of upgrade", data);
        if (keepKind !== undefined) keepFields(keepKind, request);
        return apply(answerKind, request, [route, data ?? undefined]);
      };
      const answer = upgrade === undefined ? (request) => accept(request) : (request) => {
        const data = awaited(apply(upgrade, given, [request]));
        return isPromise(data) ? then(data, (settled) => accept(request, settled)) : accept(request, data);
      };
      declareRoute(prefix, "get", [pattern, answer], kind);
      return owner;
    };
  }
  for (const kind of keys(feeders)) {
    const title = `app.${kind}`;
    owner[kind] = (...args) => {
      const [pattern, given] = args;
      if (typeof pattern === "function") return feeders[kind](...args);
      const fn = isAlone(args) ? given : args[2];
      check(title, "string", "pattern", pattern);
      checkPattern(title, pattern);
      const isSecond = typeof given === "function" && typeof args[2] === "function";
      refuseMore(title, ONE_HANDLER, args.slice(isSecond ? 2 : 3));
      refuseMiddleware(title, given, fn);
      check(title, "function", "handler", fn);
      if (!isAlone(args)) check(title, "map", "options", given);
      const { name, ...options } = isAlone(args) ? {} : given;
      // Wrong options are told of when the file is loaded.
      feeders[kind](fn, options);
      const answer = (request) => feeders[kind]((object) => fn(request, object), options, fn);
      declareRoute(prefix, "get", [pattern, { name }, answer], kind);
      return owner;
    };
  }
  owner.use = (...args) => {
    const hasPattern = args.length > 1 && (args[1] !== undefined || typeof args[0] === "string");
    const given = hasPattern ? args[1] : args[0];
    const asked = native.nativeMiddleware(given);
    if (asked === undefined) check("app.use", "function", "middleware", given);
    const own = ownFunctions.get(given);
    if (own !== undefined) {
      throw new TypeError(`app.use: ${own} is not middleware itself: call it, as in ${own}({ ... })`);
    }
    if (hasPattern && (typeof args[0] === "function" || native.nativeMiddleware(args[0]) !== undefined)) {
      refuseMore("app.use", ONE_FUNCTION, [args[0]]);
    }
    refuseMore("app.use", ONE_FUNCTION, args.slice(2));
    let pattern = prefix === "" ? "*" : `${prefix}/*`;
    if (hasPattern && args[0] !== "*") {
      check("app.use", "string", "pattern", args[0]);
      checkPattern("app.use", args[0]);
      pattern = joined(prefix, args[0]);
    }
    // A guard is no handler: native code asks the object.
    const wrap = typeof asked === "function" ? asking(given, asked) : given;
    native.use(pattern, here(), asked === null ? undefined : keepHandler(wrap), given);
    return owner;
  };
  owner.group = (path, fill, ...more) => {
    check("app.group", "string", "pattern", path);
    checkPattern("app.group", path);
    checkFill("app.group", fill, more);
    const whole = joined(prefix, path);
    fill(router({}, whole.endsWith("/") ? whole.slice(0, -1) : whole));
    return owner;
  };
  return owner;
}

// The parts of a name such as `owner[pets][]`. Nothing for one that has none, or that is written in another way.
const NESTED_MAX = 8;
function nameParts(name) {
  const open = name.indexOf("[");
  if (open < 1 || !name.endsWith("]") || name.slice(0, open).includes("]")) return undefined;
  const parts = name.slice(open + 1, -1).split("][");
  const isWhole = parts.every((part, at) => !/[[\]]/.test(part) && (part !== "" || at === parts.length - 1));
  return isWhole && parts.length < NESTED_MAX ? [name.slice(0, open), ...parts] : undefined;
}

// The objects and arrays that `nested` has made, none of which a client's value can be.
const NESTED_MADE = new WeakSet();

// The fields that names with brackets mean: `owner[name]` is the field `name` of the object `owner`, `pets[]` an item
// of the array `pets`.
function nested(fields) {
  check("app.nested", "map", "fields", fields);
  const out = { __proto__: null };
  const twice = (name) => assign(new Error(`${name} has another value beside it`), { status: 400 });
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

const app = router({}, "");
// Hosts stand in front of their patterns, without a dot at their end.
app.host = (name, fill, ...more) => {
  check("app.host", "string", "host", name);
  checkHost("app.host", name);
  checkFill("app.host", fill, more);
  fill(router({}, name.endsWith(".") ? name.slice(0, -1) : name));
  return app;
};
for (const name of ["notFound", "onError"]) {
  let declaredAt;
  app[name] = (handler, ...more) => {
    const title = `app.${name}`;
    check(title, "function", "handler", handler);
    refuseMore(title, "it takes one function", more);
    if (declaredAt !== undefined) native.declaredTwice(title, declaredAt);
    native[name](keepHandler(handler));
    declaredAt = here();
    return app;
  };
}
app.nested = nested;
app.runtime = "js";
app.version = native.version;
app.worker = freeze(native.worker);
// A builder that is a route too stays one.
for (const name of keys(builders)) if (!hasOwn(feeders, name)) app[name] = builders[name];
for (const name of keys(modules)) {
  // The functions of the module `app` are its own, and the module `json` and the builder `json` are one.
  if (name === "app") assign(app, modules[name]);
  else if (hasOwn(builders, name)) assign(builders[name], modules[name]);
  else app[name] = modules[name];
}

// Where tests may set the time, dates follow it.
function followTime(now) {
  const RealDate = Date;
  const { prototype } = RealDate;
  function SettableDate(...parts) {
    if (new.target === undefined) return new RealDate(now()).toString();
    return Reflect.construct(RealDate, parts.length === 0 ? [now()] : parts, new.target);
  }
  const define = (owner, name, value) => defineProperty(owner, name, { value, writable: true, configurable: true });
  defineProperty(SettableDate, "name", { value: "Date" });
  defineProperty(SettableDate, "length", { value: 7 });
  defineProperty(SettableDate, "prototype", { value: prototype, writable: false });
  for (const name of ["parse", "UTC"]) define(SettableDate, name, RealDate[name]);
  define(SettableDate, "now", () => now());
  define(prototype, "constructor", SettableDate);
  define(globalThis, "Date", SettableDate);
}
if (native.now !== undefined) followTime(native.now);

const exports = { app, default: app };
for (const name of keys(builders)) exports[name] = builders[name];
for (const name of keys(modules)) exports[name] ??= modules[name];
if (upgrade !== undefined) exports.upgrade = upgrade;
return { exports, runHandler, runEmpty, serve, awaited, httpClient };
})
