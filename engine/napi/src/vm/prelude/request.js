
// Requests. An object has the number of a slot of native code, and asks that when a script asks it.
const fieldIndex = create(null);
native.fields.forEach((name, at) => { fieldIndex[name] = at; });

// Header fields as an object that is a `Headers` for all who ask, and becomes one where somebody needs more than to read a field.
class LightHeaders {
  #pairs;
  #platform;
  constructor(pairs) { this.#pairs = pairs; }
  all() {
    if (this.#platform === undefined) {
      this.#platform = new Headers();
      for (let at = 1; at < this.#pairs.length; at += 2) this.#platform.append(this.#pairs[at], this.#pairs[at + 1]);
    }
    return this.#platform;
  }
  get(name) {
    if (this.#platform !== undefined) return this.#platform.get(name);
    const wanted = String(name).toLowerCase();
    let found = null;
    for (let at = 1; at < this.#pairs.length; at += 2) {
      if (this.#pairs[at] === wanted) found = found === null ? this.#pairs[at + 1] : `${found}, ${this.#pairs[at + 1]}`;
    }
    return found;
  }
  has(name) { return this.get(name) !== null; }
  set(name, value) { this.all().set(name, value); }
  append(name, value) { this.all().append(name, value); }
  delete(name) { this.all().delete(name); }
  getSetCookie() { return this.all().getSetCookie(); }
  forEach(each, self) { for (const [name, value] of this) apply(each, self, [value, name, this]); }
  keys() { return this.all().keys(); }
  values() { return this.all().values(); }
  entries() { return this.all().entries(); }
  [Symbol.iterator]() { return this.all()[Symbol.iterator](); }
}
setPrototypeOf(LightHeaders.prototype, Headers.prototype);

function pairsObject(pairs) {
  const object = create(null);
  const rule = pairs[0];
  for (let at = 1; at < pairs.length; at += 2) {
    const name = pairs[at], value = pairs[at + 1];
    const known = object[name];
    if (known === undefined) object[name] = value;
    else if (rule === 2) {
      if (isArray(known)) known.push(value);
      else object[name] = [known, value];
    }
  }
  return object;
}

// A copy of the platform's. What is wrong with its JSON is the client's fault.
function twinOf(request) {
  const twin = PlatformRequest.prototype.clone.call(request);
  const own = (name, value) => defineProperty(twin, name, { value, writable: true, configurable: true });
  own("json", async () => JSON.parse(native.clientJson(new Uint8Array(await twin.arrayBuffer()))));
  own("clone", () => twinOf(twin));
  return twin;
}

// What the Web knows of a request: what a `fetch` export gets.
class WebRequest {
  #key;
  #headers;
  #method;
  #url;
  #signal;
  #stream;
  #web;
  constructor(key) { this.#key = key; }

  static keyOf(value) { return typeof value === "object" && value !== null && #key in value ? value.#key : undefined; }
  static abort(request, reason) { request.#signal?.abort(reason); }

  get method() { return (this.#method ??= native.field(this.#key, fieldIndex.method)); }
  get url() { return (this.#url ??= native.field(this.#key, fieldIndex.url)); }
  get headers() { return (this.#headers ??= new LightHeaders(native.pairs(this.#key, fieldIndex.headers))); }
  get signal() {
    if (this.#signal === undefined) {
      // Fails if the request is over: nothing would remove it from the map then.
      native.watch(this.#key);
      this.#signal = new AbortController();
      watched.set(this.#key, this);
    }
    return this.#signal.signal;
  }
  // The platform's request with the same body, which then is its.
  #made() {
    if (this.#web === undefined) {
      const hasBody = this.method !== "GET" && this.method !== "HEAD" && native.bodyKind(this.#key) !== 0;
      const init = { method: this.method, headers: this.headers.all(), signal: this.signal };
      if (hasBody) assign(init, { body: this.#body(), duplex: "half" });
      this.#web = new PlatformRequest(this.url, init);
    }
    return this.#web;
  }
  #body() {
    if (native.bodyKind(this.#key) !== 2) return native.bodyBytes(this.#key);
    let isFirst = true;
    return new ReadableStream({
      pull: async (controller) => {
        const piece = await native.bodyRead(this.#key, isFirst);
        isFirst = false;
        if (piece === null) controller.close();
        else controller.enqueue(piece);
      },
    }, { highWaterMark: 0 });
  }
  get body() {
    if (this.#web !== undefined) return this.#web.body;
    if (this.#stream !== undefined) return this.#stream;
    if (native.bodyKind(this.#key) === 0) return null;
    const body = this.#body();
    this.#stream = body instanceof ReadableStream ? body : new PlatformResponse(body).body;
    return this.#stream;
  }
  get bodyUsed() {
    if (this.#web !== undefined) return this.#web.bodyUsed;
    return native.bodyKind(this.#key) === 3 && (this.#stream === undefined || this.#stream.locked);
  }
  // Calls `read` once the body is here.
  async #here(read) {
    if (native.bodyKind(this.#key) === 2) await native.bodyWhole(this.#key);
    return read();
  }
  // What somebody has taken as a stream or for a clone is read from that.
  get #other() {
    if (this.#web === undefined && this.#stream === undefined) return undefined;
    try {
      const other = this.#web ?? new PlatformResponse(this.#stream);
      if (!other.bodyUsed) return other;
    } catch {
      // The platform says in its own words that the stream is locked or read.
    }
    throw new TypeError("the body has already been read");
  }
  async json() {
    const other = this.#other;
    if (other === undefined) return this.#here(() => JSON.parse(native.bodyJson(this.#key)));
    return JSON.parse(native.clientJson(new Uint8Array(await other.arrayBuffer())));
  }
  async text() {
    const other = this.#other;
    return other === undefined ? this.#here(() => native.bodyText(this.#key)) : other.text();
  }
  async bytes() {
    const other = this.#other;
    return other === undefined ? this.#here(() => native.bodyBytes(this.#key)) : new Uint8Array(await other.arrayBuffer());
  }
  async arrayBuffer() { return (await this.bytes()).buffer; }
  async blob() { return new Blob([await this.bytes()], { type: this.headers.get("content-type") ?? "" }); }
  async formData() {
    const type = this.headers.get("content-type") ?? "";
    const body = await this.bytes();
    return new PlatformResponse(body, { headers: { "content-type": type } }).formData();
  }
  clone() { return twinOf(this.#made()); }
}
for (const [name, value] of Object.entries({
  cache: "default", credentials: "same-origin", destination: "", duplex: "half", integrity: "", keepalive: false, mode: "cors",
  redirect: "follow", referrer: "about:client", referrerPolicy: "",
})) {
  defineProperty(WebRequest.prototype, name, { get: () => value, configurable: true });
}
const { keyOf: requestKey, abort: abortRequest } = WebRequest;
delete WebRequest.keyOf;
delete WebRequest.abort;
setPrototypeOf(WebRequest.prototype, PlatformRequest.prototype);
defineProperty(WebRequest, "name", { value: "Request" });

// Requests whose signal somebody has asked for.
const watched = new Map();
function abort(key, reason) {
  const request = watched.get(key);
  if (request === undefined) return;
  watched.delete(key);
  defineProperty(reason, "name", { value: "AbortError", configurable: true, writable: true });
  abortRequest(request, reason);
}

// What a script assigns takes the place of a field.
function assigned(object, name, value) {
  defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}

// The request of a route: what it has beyond the Web's.
class RouteRequest extends WebRequest {
  #key;
  #path;
  #params;
  #query;
  #cookies;
  #state;
  #ip;
  #added;
  constructor(key) {
    super(key);
    this.#key = key;
  }
  static read(request, index) {
    const known = request.#added?.[index];
    if (known !== undefined) return known;
    const value = native.added(request.#key, index);
    // There may be something later.
    if (value === undefined || value === null) return value;
    request.#added ??= [];
    return (request.#added[index] = value);
  }
  static forget(request) { request.#added = undefined; }

  get path() { return (this.#path ??= native.field(this.#key, fieldIndex.path)); }
  set path(value) { assigned(this, "path", value); }
  get ip() { return (this.#ip ??= native.field(this.#key, fieldIndex.ip)); }
  set ip(value) { assigned(this, "ip", value); }
  get params() { return (this.#params ??= pairsObject(native.pairs(this.#key, fieldIndex.params))); }
  set params(value) { assigned(this, "params", value); }
  get query() { return (this.#query ??= pairsObject(native.pairs(this.#key, fieldIndex.query))); }
  set query(value) { assigned(this, "query", value); }
  get cookies() { return (this.#cookies ??= pairsObject(native.pairs(this.#key, fieldIndex.cookies))); }
  set cookies(value) { assigned(this, "cookies", value); }
  get state() { return (this.#state ??= {}); }
  set state(value) { this.#state = value; }
  async form() {
    const key = this.#key;
    if (native.bodyKind(key) === 2) await native.bodyWhole(key);
    const fields = native.bodyForm(key);
    if (fields === undefined) return native.bodyParts(key);
    return pairsObject([2, ...fields]);
  }
}
const { read: readAdded, forget: forgetAdded } = RouteRequest;
delete RouteRequest.read;
delete RouteRequest.forget;
defineProperty(RouteRequest, "name", { value: "Request" });
native.addedFields.forEach((name, index) => {
  defineProperty(RouteRequest.prototype, name, {
    get() { return readAdded(this, index); },
    set(value) {
      if (native.keyedFields.includes(name)) throw new Error(`req.${name} cannot be replaced: change its fields, as in req.${name}.name = value`);
      if (!native.assign(this, index, value)) assigned(this, name, value);
    },
    configurable: true,
  });
});
