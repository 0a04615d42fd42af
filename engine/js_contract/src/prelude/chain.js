// The middleware chain, and the `fetch` of a default export.

const isThrownResponse = (value) => typeof value === "object" && value !== null && isResponse(value);

// The response that middleware gets to see of what a handler returned: native code makes the same of it without
// middleware. `status` is that of plain values.
function toResponse(value, status) {
  if (typeof value === "string") return response(status, types.text, value, "");
  // A handler that returned undefined has chosen no status; the engine tells developers of it.
  if (value === undefined && status === 200) return response(statusOfNothing, null, null, null);
  if (value === undefined || value === null) return response(status === 200 ? statusOfNothing : status, null, null, "");
  return isResponse(value) ? finished(value, status) : otherResponse(value, status);
}

// Runs the middleware from `at` on around what answers at the end of the chain. `next` refers to nothing that refers to
// it: a cycle for each request would keep a collector busy.
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
    return awaited(handler(request, argument));
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
function runHandler(request, chain, handler, status, error, isTraced) {
  if (isTraced) return runTraced(request, chain, { answer: answerTraced, handler, status, error });
  return run(chain, 0, request, { answer, handler, status, error });
}
// The end of a chain without a handler: an empty answer with this status, or `[path, type]` of a file.
const answerEmpty = (request, { status }) =>
  isArray(status) ? response(200, status[1], fileBody(status[0]), "") : response(status, null, null, "");
const runEmpty = (request, chain, status, isTraced) =>
  (isTraced ? runTraced(request, chain, { answer: answerEmpty, status }) : run(chain, 0, request, { answer: answerEmpty, status }));

// The same, with a span for each function of the chain. `owner` is the request as the chain got it: middleware may give
// another to `next`.
function runTraced(owner, chain, end) {
  const traced = [];
  for (let step = 0; step < chain.length; step += 1) {
    const wrap = chain[step];
    traced[step] = (request, next) => spanned(owner, step, wrap, request, next);
  }
  end.owner = owner;
  end.step = chain.length;
  return run(traced, 0, owner, end);
}
const answerTraced = (request, end) => spanned(end.owner, end.step, answer, request, end);
function spanned(owner, step, part, request, argument) {
  const span = native.enterSpan(owner, step);
  let result;
  try {
    result = awaited(part(request, argument));
  } catch (thrown) {
    native.leaveSpan(owner, span, isFailure(thrown));
    throw thrown;
  }
  if (isPromise(result)) {
    then(result, () => native.leaveSpan(owner, span, false), (thrown) => native.leaveSpan(owner, span, isFailure(thrown)));
  } else {
    native.leaveSpan(owner, span, false);
  }
  return result;
}
// Answers that are thrown, and refusals, are no failures.
function isFailure(thrown) {
  if (isThrownResponse(thrown)) return false;
  try {
    const status = thrown?.status;
    return !(status >= 400 && status < 500);
  } catch {
    return true;
  }
}

// The `fetch` of a default export within middleware, which sees the request's own fields before and after it.
let fetchHandler;
async function answerByFetch(request, status) {
  const shown = openToFetch(request);
  try {
    return toResponse(await fetchHandler(shown), status);
  } catch (thrown) {
    return returnThrown(thrown, status);
  } finally {
    closeToFetch(request);
  }
}

// The third argument of a `fetch` export. It has what a route's request has beyond the Web's: in the request itself a
// router would take that for its own.
let requestOf;
class FetchContext {
  #request;
  constructor(request) { this.#request = request; }
  // It goes on after the answer by itself.
  waitUntil(promise) { then(resolved(promise), undefined, native.report); }
  passThroughOnException() {}
  static { requestOf = (context) => context.#request; }
}
const fetchContext = FetchContext.prototype;
delete fetchContext.constructor;
for (const name of ["ip", "state", ...native.addedFields]) {
  defineProperty(fetchContext, name, { get() { return requestField(requestOf(this), name); }, enumerable: true });
}
for (const name of keys(addedMethods)) {
  fetchContext[name] = function (...args) { return apply(addedMethods[name], requestOf(this), args); };
}
freeze(fetchContext);

// Keeps the `fetch` of a default export as a handler: its number, and the options of its bodies. They are the export's
// own: a router such as itty-router's has a function under every name that it does not have itself.
function serve(target) {
  const { fetch } = target;
  fetchHandler = (request) => apply(fetch, target, [request, {}, new FetchContext(routeRequest(request))]);
  const own = (name) => (hasOwn(target, name) ? target[name] : undefined);
  const [limit, compress] = [own("bodyBytesMax"), own("compress")];
  const isUncompressed = compress !== undefined && compress !== null && compress !== true;
  const bytesMax = limit === undefined || limit === null ? undefined : String(limit);
  return [keepHandler(fetchHandler), bytesMax, own("stream") === true, isUncompressed, own("etag") === true];
}

