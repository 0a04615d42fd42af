
// What the contract with scripts needs of this engine.
function keepHandler(handler) {
  handlers.push(handler);
  return handlers.length - 1;
}
// The requests of middleware, by those that the `fetch` behind it got.
const routeRequests = new WeakMap();
const { addedMethods } = native;

const { exports, runHandler, runEmpty, serve, awaited } = native.contract({
  native,
  stringify,
  response: (status, type, body, statusText) =>
    // Without a type it is an answer without a body, whose status stays as it is.
    type === null ? response(status, [], body) : response(status, ["content-type", type], body, statusText),
  responseWithFields: response,
  listOf: (headers) => [...headers].flat(),
  fileBody: (path) => new FileBody(path),
  partsOf,
  isResponse,
  finished: (value, status) => (isOurs(value) ? finished(value, status) : value),
  otherResponse,
  keepHandler,
  // A `fetch` sees the Web's part of a request alone, in an object of its own.
  openToFetch(request) {
    const key = requestKey(request);
    if (key === undefined) return request;
    const shown = new WebRequest(key);
    routeRequests.set(shown, request);
    return shown;
  },
  closeToFetch() {},
  routeRequest(request) {
    const key = requestKey(request);
    return routeRequests.get(request) ?? (key === undefined ? undefined : new RouteRequest(key));
  },
  requestField: (request, name) => request?.[name],
});
for (const name of keys(addedMethods)) {
  defineProperty(RouteRequest.prototype, name, { value: addedMethods[name], writable: true, configurable: true });
}

// The default export of the entry file, if it has `fetch`: the handler's number and how it wants bodies.
function served(namespace) {
  let target = namespace?.default;
  // A CommonJS file that was loaded as one, or a module that was loaded by `require`.
  if (typeof target?.fetch !== "function" && typeof target?.default?.fetch === "function") target = target.default;
  if ((typeof target !== "object" && typeof target !== "function") || target === null || typeof target.fetch !== "function") return undefined;
  const given = serve(target);
  [fetchNumber] = given;
  return given;
}

// What the language prints goes to the log.
if (native.format !== undefined) {
  const print = (level) => (...args) => native.console(level, native.format(...args));
  const levels = { log: "info", info: "info", debug: "debug", trace: "debug", warn: "warn", error: "error" };
  for (const name of keys(levels)) console[name] = print(levels[name]);
}

// What nothing catches is told by the platform, for the program goes on.
native.uncaught((error, isRejection) => {
  try {
    native.report(error, isRejection ? "unhandled rejection: " : "");
  } catch {
    // The server has ended, and its log with it.
  }
});

return {
  exports, run, take, next, classify, keyOf, store, describe, served, follow, ended, afterMicrotasks, drop, cancelStream, abort, requestEnded, requestKey,
  forgetAdded, classWithoutData, isCyclic, toJson, dateText, ofMap, keysOfMap, rowsOf, append, newObject, waitingFunction, unfinished, stringify, here, toError, lastThrown, shown,
};
