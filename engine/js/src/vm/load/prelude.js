// The `sampan` module as scripts see it: routes, groups, the middleware chain and the response builders.
// It is written around native functions so that everything that calls a user's function is JavaScript, where a
// promise can pass. Returns what native code needs: the module's exports and the function that runs a chain.
(function prelude(native) {
  "use strict";
  const { route, use, notFound, onError, stringify, answerText, symbols, modules, version, worker, types } = native;
  const { answering, makeResponse } = native;
  const { checkStatus, checkRedirect, check, checkPattern, unknownOption, location: locationOf, statusOfNothing } = native;
  const { showToFetch, requestField, headerList, report, addedFields, addedMethods } = native;
  const { nativeMiddleware, ask, decide, now } = native;
  const { status: STATUS, statusText: STATUS_TEXT, headers: HEADERS, list: LIST, body: BODY, used: USED } = symbols;
  const { immutable: IMMUTABLE, file: FILE } = symbols;
  const { responsePrototype, headersPrototype } = native;
  const { isArray } = Array;
  const { keys, hasOwn, freeze, getPrototypeOf, getOwnPropertySymbols, defineProperty } = Object;
  const { apply } = Reflect;
  const promiseThen = Promise.prototype.then;
  const resolved = Promise.resolve.bind(Promise);
  const isPromise = (value) => typeof value === "object" && value instanceof Promise;
  const then = (promise, next, failed) => apply(promiseThen, promise, [next, failed]);

  // Packages choose by this between what they do in production and what helps while developing. There is no more of Node.js.
  defineProperty(globalThis, "process", {
    value: { env: { NODE_ENV: native.nodeEnv } }, writable: true, configurable: true, enumerable: false,
  });

  // The shape that the Web surface gives its own responses (web/mod.rs), so that a response made here is one of
  // them without loading that surface: its prototype loads it when a method is touched.
  // The status text is null where nobody chose the status: the handler of an error then answers with that of the error.
  function response(status, type, body, statusText = "") {
    const whole = type === null ? undefined : makeResponse(status, statusText, type, body);
    if (whole !== undefined) return whole;
    return {
      __proto__: responsePrototype,
      [STATUS]: status,
      [STATUS_TEXT]: statusText,
      [HEADERS]: { __proto__: headersPrototype, [LIST]: type === null ? [] : ["content-type", type] },
      [BODY]: body,
      [USED]: false,
    };
  }

  // A body that the server puts in: the file at a path in the project's folder.
  const fileBody = (path) => freeze({ __proto__: null, [FILE]: path });

  // QuickJS forgets the shape of these objects with the last of them, so one of each is kept.
  const kept = [response(200, types.json, "kept"), response(statusOfNothing, null, null)];

  // Applies `opts` of a builder: a status, or `{ status, headers }`.
  function build(name, type, body, opts) {
    if (opts === undefined || opts === null) return response(200, type, body, null);
    const chosen = typeof opts === "number" ? opts : opts.status;
    const status = chosen ?? 200;
    if (status !== 200) checkStatus(name, status);
    const made = response(status, type, body, chosen === undefined || chosen === null ? null : "");
    if (typeof opts === "number") return made;
    check(name, "options", "options", opts);
    for (const key of keys(opts)) {
      if (key !== "status" && key !== "headers") unknownOption(name, key, "status", "headers");
    }
    const given = opts.headers;
    if (given === undefined) return made;
    const list = headerList(given, type);
    if (list !== undefined) {
      made[HEADERS][LIST] = list;
    } else {
      const headers = headersOf(given);
      if (type !== null && !headers.has("content-type")) headers.set("content-type", type);
      made[HEADERS] = headers;
    }
    return made;
  }

  // What the native list leaves to the Web surface. A list of values is a field for each of them, which Set-Cookie needs
  // (RFC 6265, section 3).
  function headersOf(given) {
    const isPlain = typeof given === "object" && given !== null && given[Symbol.iterator] === undefined
      && getOwnPropertySymbols(given).length === 0;
    if (!isPlain) return new Headers(given);
    const pairs = [];
    for (const name of keys(given)) {
      const value = given[name];
      if (!isArray(value)) pairs.push([name, value]);
      else for (const one of value) pairs.push([name, one]);
    }
    return new Headers(pairs);
  }

  function fileAnswer(name, [path, type, disposition], opts) {
    const made = build(name, type, fileBody(path), opts);
    if (disposition !== false && !made.headers.has("content-disposition")) made.headers.set("content-disposition", disposition);
    return made;
  }

  const kindOf = (value) => (value === null ? "null" : isArray(value) ? "array" : typeof value);

  function json(value, opts) {
    return build("json", types.json, stringify(value), opts);
  }
  function text(value, opts) {
    if (value instanceof Uint8Array) return build("text", types.text, new Uint8Array(value), opts);
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
    const made = response(status, null, null);
    made[HEADERS][LIST] = ["location", locationOf("redirect", location)];
    return made;
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
          return put(isText ? encoder.encode(chunk) : chunk);
        };
        const put = async (bytes) => {
          if (gone) return leave();
          controller.enqueue(bytes);
          if (controller.desiredSize > 0) return undefined;
          await waiting;
          return gone ? leave() : undefined;
        };
        const run = async () => produce(write);
        const end = () => { if (!gone) controller.close(); };
        const fail = (error) => { if (!gone) controller.error(error); };
        apply(promiseThen, run(), [end, fail]);
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
    return build("stream", types.stream, body, opts);
  }

  const isResponse = (value) => value[STATUS] !== undefined;
  const isThrownResponse = (value) => typeof value === "object" && value !== null && isResponse(value);

  // A response as middleware gets to see it: with its status, and headers that can be changed. It is a new one where
  // something has to change, since the script may give the same response again.
  function finished(given, status) {
    const isOpen = given[STATUS_TEXT] === null && status !== 200;
    if (!isOpen && given[HEADERS][IMMUTABLE] !== true) return given;
    return {
      __proto__: getPrototypeOf(given),
      [STATUS]: isOpen ? status : given[STATUS],
      [STATUS_TEXT]: isOpen ? "" : given[STATUS_TEXT],
      [HEADERS]: { __proto__: headersPrototype, [LIST]: [...given[HEADERS][LIST]] },
      [BODY]: given[BODY],
      [USED]: given[USED],
    };
  }

  // What a handler returned, as a response: the same as native code does without middleware (request/response.rs).
  // `status` is that of plain values.
  function toResponse(value, status) {
    if (typeof value === "string") return response(status, types.text, value);
    if (value === undefined || value === null) return response(status === 200 ? statusOfNothing : status, null, null);
    if (isResponse(value)) return finished(value, status);
    const body = answerText(value);
    return typeof body === "string" ? response(status, types.json, body) : response(status, body[1], body[0]);
  }

  // Runs the middleware from `at` on around what answers at the end of the chain. `next` refers to nothing that refers
  // to it: a cycle per request would have the garbage collector run all the time.
  function run(chain, at, request, end) {
    if (at === chain.length) return end.answer(request, end);
    let inner;
    const next = (given = request) => (inner = run(chain, at + 1, given, end));
    const result = called(chain[at], request, next);
    if (result === inner && inner !== undefined) return inner;
    if (isPromise(result)) return then(result, (value) => passed(value, inner), (thrown) => returnThrown(thrown, 200));
    return passed(result, inner);
  }
  // A response that is thrown is an answer like one that is returned.
  function called(handler, request, argument) {
    try {
      return handler(request, argument);
    } catch (thrown) {
      if (isThrownResponse(thrown)) return thrown;
      throw thrown;
    }
  }
  function returnThrown(thrown, status) {
    if (isThrownResponse(thrown)) return toResponse(thrown, status);
    throw thrown;
  }
  const passed = (value, inner) => (value === undefined && inner !== undefined ? inner : toResponse(value, 200));

  function answer(request, { handler, status, error }) {
    if (handler === fetchHandler) return answerByFetch(request, status);
    const result = typeof handler === "function" ? called(handler, request, error) : handler;
    return isPromise(result)
      ? then(result, (value) => toResponse(value, status), (thrown) => returnThrown(thrown, status))
      : toResponse(result, status);
  }
  // The `fetch` of a default export within middleware, which sees the request's own fields before and after it.
  let fetchHandler;
  async function answerByFetch(request, status) {
    showToFetch(request, true);
    try {
      return toResponse(await fetchHandler(request), status);
    } catch (thrown) {
      return returnThrown(thrown, status);
    } finally {
      showToFetch(request, false);
    }
  }
  const runHandler = (request, chain, handler, status, error) =>
    run(chain, 0, request, { answer, handler, status, error });
  // Where no handler answers: an empty answer with this status, or a file.
  const answerEmpty = (request, { status }) =>
    isArray(status) ? response(200, status[1], fileBody(status[0])) : response(status, null, null);
  const runEmpty = (request, chain, status) => run(chain, 0, request, { answer: answerEmpty, status });

  // The third argument of a `fetch` export. It has what a route's request has beyond the Web's: in the request itself a router
  // would take that for its own.
  const REQUEST = symbols.request;
  const fetchContext = {
    // It goes on after the answer by itself.
    waitUntil(promise) {
      then(Promise.resolve(promise), undefined, report);
    },
    passThroughOnException() {},
  };
  for (const name of ["ip", "state", ...addedFields]) {
    defineProperty(fetchContext, name, { get() { return requestField(this[REQUEST], name); }, enumerable: true });
  }
  // A row that gives an answer returns it, or its body and its content type, or the path of a file, its content type and its disposition or
  // false. Behind its own arguments are the options of a builder.
  function withOptions(name, answer, opts) {
    if (isArray(answer)) {
      return answer.length === 2 ? build(name, answer[1], answer[0], opts) : fileAnswer(name, answer, opts);
    }
    if (opts === undefined) return answer;
    return build(name, answer[HEADERS][LIST][1], answer[BODY], opts);
  }
  for (const [owner, name, count] of answering) {
    if (owner !== "req") continue;
    const call = addedMethods[name];
    addedMethods[name] = function (a, b, c, d) {
      return withOptions(name, apply(call, this, [a, b, c]), count === 1 ? b : count === 2 ? c : d);
    };
  }
  for (const name of keys(addedMethods)) {
    fetchContext[name] = function (...args) { return apply(addedMethods[name], this[REQUEST], args); };
  }
  freeze(fetchContext);

  // The `fetch` of a default export as a handler.
  function serve(target) {
    const { fetch } = target;
    fetchHandler = (request) => apply(fetch, target, [request, {}, { __proto__: fetchContext, [REQUEST]: request }]);
    return fetchHandler;
  }

  // The fields of a multipart form as an object; a name that is given twice has an array.
  async function form(request) {
    const fields = { __proto__: null };
    for (const [name, value] of await request.formData()) {
      const known = fields[name];
      if (known === undefined) fields[name] = value;
      else if (isArray(known)) known.push(value);
      else fields[name] = [known, value];
    }
    return fields;
  }

  // Calls a method once a promise is fulfilled.
  const after = (promise, object, method) => then(promise, () => apply(method, object, []));

  // Where a route or middleware was declared is read from the stack of this error by native code.
  const here = () => new Error().stack;

  const ROUTE_OPTIONS = { __proto__: null, bodyBytesMax: true, compress: true, etag: true, name: true, stream: true };
  function routeOptions(owner, opts) {
    check(owner, "map", "options", opts);
    for (const key of keys(opts)) {
      if (!(key in ROUTE_OPTIONS)) unknownOption(owner, key, ...keys(ROUTE_OPTIONS));
    }
    const { bodyBytesMax: limit, compress = true, etag = false, name, stream = false } = opts;
    check(owner, "boolean", "option 'compress'", compress);
    check(owner, "boolean", "option 'etag'", etag);
    if (name !== undefined) check(owner, "string", "option 'name'", name);
    check(owner, "boolean", "option 'stream'", stream);
    // Checked where the routes are arranged, for both languages.
    return { limit: limit === undefined ? undefined : String(limit), compress, etag, name, stream };
  }

  // `/api` + `/users` is `/api/users`; a group's own "/" is the prefix itself.
  const joined = (prefix, pattern) => (prefix === "" ? pattern : pattern === "/" ? prefix : prefix + pattern);

  const verbs = { get: "GET", post: "POST", put: "PUT", patch: "PATCH", delete: "DELETE", options: "OPTIONS", all: null };

  // Whether a value is nothing but options: then its handler was forgotten.
  function isOptions(value) {
    if (typeof value !== "object" || value === null) return false;
    const names = keys(value);
    for (const key of names) if (!(key in ROUTE_OPTIONS)) return false;
    return names.length > 0;
  }

  function declareVerb(owner, prefix, verb) {
    const name = `app.${verb}`;
    owner[verb] = (...args) => {
      const [pattern, options] = args;
      check(name, "string", "pattern", pattern);
      checkPattern(name, pattern);
      const given = args.length > 2 ? routeOptions(name, options) : { __proto__: null, compress: true };
      const handler = args.length > 2 ? args[2] : isOptions(options) ? undefined : options;
      if (handler === undefined) check(name, "function", "handler", handler);
      route(verbs[verb], joined(prefix, pattern), handler, given.limit, given.stream, here(),
        !given.compress, given.name, given.etag);
      return owner;
    };
  }

  // A native object that asks a function of the script, as middleware.
  function asking(object, asked) {
    return (request, next) => {
      let returned = apply(asked, undefined, ask(object, request));
      // Query builders are no promises but have a `then`: what they give decides, not they themselves.
      if (!isPromise(returned) && typeof returned?.then === "function") returned = resolved(returned);
      if (!isPromise(returned)) {
        decide(object, request, returned);
        return next();
      }
      return then(returned, (value) => {
        decide(object, request, value);
        return next();
      });
    };
  }

  function router(owner, prefix) {
    for (const verb of keys(verbs)) declareVerb(owner, prefix, verb);
    owner.use = (...args) => {
      const given = args.length > 1 ? args[1] : args[0];
      const asked = nativeMiddleware(given);
      if (asked === undefined) check("app.use", "function", "middleware", given);
      const fn = typeof asked === "function" ? asking(given, asked) : given;
      if (args.length === 1 || args[0] === "*") {
        // A group's prefix and everything below it.
        if (prefix !== "") use(`${prefix}/*`, fn, here());
        else use("*", fn, here());
      } else {
        check("app.use", "string", "pattern", args[0]);
        checkPattern("app.use", args[0]);
        use(joined(prefix, args[0]), fn, here());
      }
      return owner;
    };
    owner.group = (path, fill) => {
      check("app.group", "string", "pattern", path);
      checkPattern("app.group", path);
      check("app.group", "function", "second argument", fill);
      const whole = joined(prefix, path);
      fill(router({}, whole.endsWith("/") ? whole.slice(0, -1) : whole));
      return owner;
    };
    return owner;
  }

  function declare(name, native) {
    return (handler) => {
      check(`app.${name}`, "function", "handler", handler);
      native(handler, here());
      return app;
    };
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
  const MADE = new WeakSet();

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
        if (known !== undefined && !MADE.has(known)) throw twice(name);
        if (known === undefined) {
          const isList = last === "" && at === parts.length - 1;
          into[part] = isList ? [] : { __proto__: null };
          MADE.add(into[part]);
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

  const app = router({}, "");
  // Without middleware native code calls this handler itself, so it sees to the status.
  app.notFound = declare("notFound", (handler, place) =>
    notFound((request, status) => answer(request, { handler, status }), place));
  app.onError = declare("onError", onError);
  app.nested = nested;
  app.runtime = "js";
  app.version = version;
  app.worker = Object.freeze(worker);
  const builders = { json, html, text, redirect, stream, first };
  for (const [owner, name, count] of answering) {
    if (owner === "req") continue;
    const call = modules[owner][name];
    // Without a list of arguments, which costs more than all else here. No such row has more than three parameters.
    const answers = (a, b, c, d) => withOptions(name, call(a, b, c), count === 1 ? b : count === 2 ? c : d);
    modules[owner][name] = answers;
    if (owner === "app") builders[name] = answers;
  }
  for (const name of keys(builders)) app[name] = builders[name];
  for (const name of keys(modules)) {
    // The functions of the module `app` are its own, and the module `json` and the builder `json` are one.
    if (name === "app") Object.assign(app, modules[name]);
    else if (hasOwn(builders, name)) Object.assign(builders[name], modules[name]);
    else app[name] = modules[name];
  }
  // Where tests may set the time, dates follow it.
  function followTime() {
    const RealDate = Date;
    const prototype = RealDate.prototype;
    function SettableDate(...parts) {
      if (new.target === undefined) return new RealDate(now()).toString();
      return Reflect.construct(RealDate, parts.length === 0 ? [now()] : parts, new.target);
    }
    defineProperty(SettableDate, "name", { value: "Date" });
    defineProperty(SettableDate, "length", { value: 7 });
    defineProperty(SettableDate, "prototype", { value: prototype, writable: false });
    for (const name of ["parse", "UTC"]) {
      defineProperty(SettableDate, name, { value: RealDate[name], writable: true, configurable: true });
    }
    defineProperty(SettableDate, "now", { value: () => now(), writable: true, configurable: true });
    defineProperty(prototype, "constructor", { value: SettableDate, writable: true, configurable: true });
    defineProperty(globalThis, "Date", { value: SettableDate, writable: true, configurable: true });
  }
  if (now !== undefined) followTime();

  const exports = { app, default: app };
  for (const name of keys(builders)) exports[name] = builders[name];
  for (const name of keys(modules)) exports[name] ??= modules[name];
  return { exports, runHandler, runEmpty, form, after, serve, kept, addedMethods };
})
