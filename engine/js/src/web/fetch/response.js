// Response (Fetch, section 5.5). What native code writes to the client is kept in own properties under
// registered symbols, un-serialised: status, headers and body (the engine contract in mod.rs).
(function response({ p, symbols, load, native, protos, adopt, usv }) {
  const { Headers, fill, listOf, fromList, listCopy, hasIn, add, IMMUTABLE } = load("headers");
  const { Body, extract, cloneBody } = load("body");
  const { headerValue } = native("headers");
  const { parse } = native("url");
  const { TypeError, RangeError } = p;
  const { status: STATUS, statusText: STATUS_TEXT, headers: HEADERS, body: BODY, used: USED } = symbols;
  const { error: ERROR, url: URL_TEXT, redirected: REDIRECTED } = symbols;

  const noBody = (status) => status === 204 || status === 205 || status === 304;

  function statusOf(value) {
    const status = p.floor(p.Number(value));
    if (!(status >= 200 && status <= 599)) throw new RangeError(`Response: the status must be from 200 to 599, not ${value}`);
    return status;
  }
  function statusTextOf(value) {
    const text = `${value}`;
    if (headerValue(p.wellFormed(text)) === undefined) throw new TypeError("Response: invalid statusText");
    return text;
  }

  function Response(body = null, init = undefined) {
    if (new.target === undefined) throw new TypeError("Response must be called with new");
    const status = init?.status;
    const statusText = init?.statusText;
    const headers = init?.headers;
    this[STATUS] = status === undefined ? 200 : statusOf(status);
    this[STATUS_TEXT] = statusText === undefined ? "" : statusTextOf(statusText);
    this[HEADERS] = fromList([]);
    if (headers !== undefined) fill(this[HEADERS][symbols.list], headers);
    this[BODY] = null;
    this[USED] = false;
    if (body !== null && body !== undefined) setBody(this, extract(body));
  }
  function setBody(response, { body, type }) {
    if (noBody(response[STATUS])) throw new TypeError(`Response: a ${response[STATUS]} response cannot have a body`);
    response[BODY] = body;
    const list = response[HEADERS][symbols.list];
    if (type !== null && !hasIn(list, "content-type")) add(list, "content-type", type);
  }

  function json(data, init = undefined) {
    const text = p.stringify(data);
    if (text === undefined) throw new TypeError("Response.json: the value has no JSON");
    const response = new Response(null, init);
    setBody(response, { body: p.wellFormed(text), type: "application/json" });
    return response;
  }

  // An absolute URL is written in its serialised form; a path stays relative to the site.
  function redirect(url, status = 302) {
    const code = p.Number(status);
    if (code !== 301 && code !== 302 && code !== 303 && code !== 307 && code !== 308) {
      throw new RangeError(`Response.redirect: ${status} is not a redirect status`);
    }
    const text = usv(url);
    const absolute = parse(text, undefined);
    let location;
    if (absolute !== undefined) {
      location = absolute[0];
    } else {
      const origin = "http://relative.invalid";
      const parts = parse(text, origin);
      if (parts === undefined || p.stringIndexOf(parts[0], `${origin}/`) !== 0 || p.charCode(text, 0) !== 0x2f) {
        throw new TypeError(`Response.redirect: Invalid URL: ${text}`);
      }
      location = p.substring(parts[0], origin.length);
    }
    const response = new Response(null);
    response[STATUS] = code;
    response[HEADERS] = fromList(["location", location], true);
    return response;
  }

  function error() {
    const response = new Response(null);
    response[STATUS] = 0;
    response[ERROR] = true;
    response[HEADERS] = fromList([], true);
    return response;
  }

  function member(response, key) {
    const value = response[key];
    if (value === undefined) throw new TypeError("this is not a Response");
    return value;
  }

  adopt(Response, protos.response, Body, class {
    get status() {
      return member(this, STATUS);
    }
    get statusText() {
      // The builders leave it null where the status is their default.
      return member(this, STATUS) === 0 ? "" : this[STATUS_TEXT] ?? "";
    }
    get ok() {
      const status = member(this, STATUS);
      return status >= 200 && status <= 299;
    }
    get headers() {
      return member(this, HEADERS);
    }
    get type() {
      if (this[ERROR] === true) return "error";
      return this[URL_TEXT] === undefined ? "default" : "basic";
    }
    get url() {
      return this[URL_TEXT] ?? "";
    }
    get redirected() {
      return this[REDIRECTED] === true;
    }
    clone() {
      const body = cloneBody(this);
      const twin = new Response(null);
      twin[STATUS] = this[STATUS];
      twin[STATUS_TEXT] = this[STATUS_TEXT];
      twin[HEADERS] = fromList(listCopy(this[HEADERS]), this[HEADERS][IMMUTABLE] === true);
      twin[BODY] = body;
      if (this[ERROR] === true) twin[ERROR] = true;
      if (this[URL_TEXT] !== undefined) twin[URL_TEXT] = this[URL_TEXT];
      if (this[REDIRECTED] === true) twin[REDIRECTED] = true;
      return twin;
    }
  });
  for (const [name, value] of [["json", json], ["redirect", redirect], ["error", error]]) {
    p.defineProperty(Response, name, { value, writable: true, configurable: true });
  }

  return { Response };
})
