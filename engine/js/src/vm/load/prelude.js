// What the contract with scripts needs of this engine: responses as native code reads and makes them, and the requests
// that a `fetch` sees. Returns what native code needs of the contract and of this.
(function prelude(native) {
  "use strict";
  const { symbols, statusOfNothing, types, answerText, makeResponse, showToFetch } = native;
  const { status: STATUS, statusText: STATUS_TEXT, headers: HEADERS, list: LIST, body: BODY, used: USED } = symbols;
  const { immutable: IMMUTABLE, file: FILE } = symbols;
  const { responsePrototype, headersPrototype } = native;
  const { isArray } = Array;
  const { defineProperty, freeze, getPrototypeOf } = Object;
  const { apply } = Reflect;
  const promiseThen = Promise.prototype.then;

  // Packages choose by this between what they do in production and what helps while developing. There is no more of
  // Node.js.
  defineProperty(globalThis, "process", {
    value: { env: { NODE_ENV: native.nodeEnv } }, writable: true, configurable: true, enumerable: false,
  });

  // The shape that the Web surface gives its own responses (web/mod.rs), so that a response made here is one of
  // them without loading that surface: its prototype loads it when a method is touched.
  function response(status, type, body, statusText) {
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
  function responseWithFields(status, list, body, statusText) {
    const made = response(status, types.text, body, statusText);
    made[HEADERS][LIST] = list;
    return made;
  }

  // QuickJS forgets the shape of these objects with the last of them, so one of each is kept.
  const kept = [response(200, types.json, "kept", ""), response(statusOfNothing, null, null, "")];

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

  const contract = native.contract({
    native,
    stringify: native.stringify,
    response,
    responseWithFields,
    listOf: (headers) => headers[LIST],
    fileBody: (path) => freeze({ __proto__: null, [FILE]: path }),
    partsOf: (given) => [given[HEADERS][LIST][1], given[BODY]],
    isResponse: (value) => value[STATUS] !== undefined,
    finished,
    otherResponse(value, status) {
      const body = answerText(value);
      return typeof body === "string" ? response(status, types.json, body, "") : response(status, body[1], body[0], "");
    },
    keepHandler: native.keep,
    openToFetch(request) {
      showToFetch(request, true);
      return request;
    },
    closeToFetch: (request) => showToFetch(request, false),
    routeRequest: (request) => request,
    requestField: native.requestField,
  });

  if (contract.httpClient !== undefined) native.useClient(contract.httpClient);

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
  const after = (promise, object, method) => apply(promiseThen, promise, [() => apply(method, object, [])]);

  return { ...contract, form, after, kept };
})
