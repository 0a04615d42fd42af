// Request (Fetch, section 5.4). A native request of the engine inherits from the same prototype and
// answers `method`, `url` and `headers` itself.
(function request({ p, symbols, load, native, protos, adopt, usv }) {
  const { Headers, listCopy, fromList, fill, listOf, hasIn, add } = load("headers");
  const { Body, extract, cloneBody, isClients, moveBody, own } = load("body");
  const { requestUrl } = native("url");
  const { headerName } = native("headers");
  const { TypeError } = p;
  const { method: METHOD, url: URL_TEXT, headers: HEADERS, body: BODY, used: USED, signal: SIGNAL, incoming: INCOMING } = symbols;
  const OPTIONS = symbols.options;

  const NORMAL = { __proto__: null };
  for (const name of ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"]) NORMAL[name] = name;
  const FORBIDDEN = { __proto__: null, CONNECT: 1, TRACE: 1, TRACK: 1 };
  const DEFAULTS = {
    __proto__: null, cache: "default", credentials: "same-origin", integrity: "", keepalive: false, mode: "cors",
    redirect: "follow", referrer: "about:client", referrerPolicy: "",
  };
  // The texts that an option may be, but for its default.
  const TEXTS = {
    __proto__: null,
    cache: ["no-store", "reload", "no-cache", "force-cache", "only-if-cached"],
    credentials: ["omit", "include"],
    mode: ["same-origin", "no-cors"],
    redirect: ["error", "manual"],
    referrerPolicy: ["no-referrer", "no-referrer-when-downgrade", "same-origin", "origin", "strict-origin",
      "origin-when-cross-origin", "strict-origin-when-cross-origin", "unsafe-url"],
  };

  function methodOf(value) {
    const method = `${value}`;
    if (headerName(p.wellFormed(method)) === undefined) throw new TypeError(`Request: ${p.stringify(method)} is not a method`);
    const upper = p.upper(method);
    if (upper in FORBIDDEN) throw new TypeError(`Request: the method ${upper} is not allowed`);
    return NORMAL[upper] ?? method;
  }
  function urlOf(value) {
    const text = usv(value);
    const href = requestUrl(text);
    if (href === undefined) throw new TypeError(`Request: Invalid URL, or one with credentials: ${text}`);
    return href;
  }
  const isRequest = (value) => typeof value === "object" && value !== null && value instanceof Request;

  function optionsOf(input, init) {
    if (init === undefined) return input?.[OPTIONS];
    let options;
    for (const name in DEFAULTS) {
      const value = init?.[name] ?? input?.[name];
      if (value === undefined || value === DEFAULTS[name]) continue;
      options ??= { __proto__: null };
      options[name] = typeof DEFAULTS[name] === "boolean" ? !!value : textOf(name, `${value}`);
    }
    return options;
  }
  function textOf(name, text) {
    const texts = TEXTS[name];
    if (texts !== undefined && text !== DEFAULTS[name] && p.indexOf(texts, text) === -1) {
      const all = p.join([DEFAULTS[name] || '""', ...texts], ", ");
      throw new TypeError(`Request: the option ${name} cannot be ${p.stringify(text)}; it may be ${all}`);
    }
    return text;
  }

  function Request(input, init = undefined) {
    if (new.target === undefined) throw new TypeError("Request must be called with new");
    if (arguments.length === 0) throw new TypeError("Request: a URL or a Request is needed");
    const from = isRequest(input) ? input : undefined;
    this[METHOD] = init?.method === undefined ? (from?.method ?? "GET") : methodOf(init.method);
    this[URL_TEXT] = from === undefined ? urlOf(input) : from.url;
    this[HEADERS] = headersOf(from, init);
    this[OPTIONS] = optionsOf(from, init);
    const signal = init?.signal === undefined ? from?.[SIGNAL] : init.signal;
    if (signal !== undefined && signal !== null) {
      if (!load("abort").isSignal(signal)) throw new TypeError("Request: signal must be an AbortSignal");
      this[SIGNAL] = load("abort").following(signal);
    }
    this[BODY] = null;
    this[USED] = false;
    const given = init?.body;
    if (given !== undefined && given !== null) {
      noBodyFor(this[METHOD]);
      const { body, type } = extract(given);
      this[BODY] = body;
      const list = listOf(this[HEADERS]);
      if (type !== null && !hasIn(list, "content-type")) add(list, "content-type", type);
    } else if (from !== undefined && given !== null) {
      const content = moveBody(from);
      if (content !== null) noBodyFor(this[METHOD]);
      this[BODY] = content;
    }
  }
  function noBodyFor(method) {
    if (method === "GET" || method === "HEAD") throw new TypeError(`Request: a ${method} request cannot have a body`);
  }
  function headersOf(from, init) {
    const given = init?.headers;
    if (given !== undefined) {
      const headers = new Headers();
      fill(listOf(headers), given);
      return headers;
    }
    return from === undefined ? new Headers() : fromList(listCopy(from.headers));
  }
  class RequestMembers {
    get method() {
      return this[METHOD];
    }
    get url() {
      return this[URL_TEXT];
    }
    get headers() {
      return this[HEADERS];
    }
    // A signal is made when somebody asks for it; the engine aborts it when the client goes away.
    get signal() {
      if (this[SIGNAL] === undefined) own(this, SIGNAL, load("abort").newSignal());
      return this[SIGNAL];
    }
    get destination() {
      return "";
    }
    get duplex() {
      return "half";
    }
    clone() {
      const body = cloneBody(this);
      const twin = new Request(this.url, { headers: this.headers });
      twin[METHOD] = this.method;
      twin[BODY] = body;
      if (isClients(this)) twin[INCOMING] = true;
      twin[OPTIONS] = this[OPTIONS];
      twin[SIGNAL] = load("abort").following(this.signal);
      return twin;
    }
  }
  for (const name in DEFAULTS) {
    p.defineProperty(RequestMembers.prototype, name, {
      configurable: true,
      get() {
        return this[OPTIONS]?.[name] ?? DEFAULTS[name];
      },
    });
  }
  adopt(Request, protos.request, Body, RequestMembers);

  return { Request };
})
