
// A `Response` that keeps what it was given: a body that is text or bytes is sent as it is. It takes the place of the platform's class, whose
// instances count as its own; one of them is made behind it where a method needs what only that can do.
class Response {
  #status = 200;
  #statusText = "";
  // Names and values one after the other, until somebody asks for the `Headers`.
  #list;
  #headers;
  #body;
  #isUsed = false;
  #platform;

  constructor(body = null, init = undefined) {
    if (body === MADE) {
      [this.#status, this.#list, this.#body, this.#statusText] = init;
      return;
    }
    const status = init?.status === undefined ? 200 : Number(init.status);
    if (!Number.isInteger(status) || status < 200 || status > 599) {
      throw new RangeError(`Response: the status must be a whole number from 200 to 599, not ${init.status}`);
    }
    if (body !== null && body !== undefined && (status === 204 || status === 205 || status === 304)) {
      throw new TypeError(`Response: a response with the status ${status} cannot have a body`);
    }
    this.#status = status;
    if (init?.statusText !== undefined) this.#statusText = String(init.statusText);
    const given = init?.headers;
    if (given === undefined || given === null) this.#list = [];
    else this.#headers = new Headers(given instanceof LightHeaders ? given.all() : given);
    this.#take(body);
  }

  #take(body) {
    if (body === null || body === undefined) {
      this.#body = null;
    } else if (typeof body === "string") {
      this.#body = body;
      this.#default("text/plain;charset=UTF-8");
    } else if (isBuffer(body)) {
      this.#body = bytesOf(body).slice();
    } else if (body instanceof ReadableStream) {
      if (body.locked) throw new TypeError("Response: the stream has been read or is locked");
      this.#body = body;
    } else if (body instanceof URLSearchParams) {
      this.#body = String(body);
      this.#default("application/x-www-form-urlencoded;charset=UTF-8");
    } else if (body instanceof Blob || body instanceof FormData) {
      const made = new PlatformResponse(body);
      const type = made.headers.get("content-type");
      if (type !== null) this.#default(type);
      this.#body = made.body;
    } else {
      this.#body = String(body);
      this.#default("text/plain;charset=UTF-8");
    }
  }
  #default(type) {
    if (this.#headers === undefined) this.#list.push("content-type", type);
    else if (!this.#headers.has("content-type")) this.#headers.set("content-type", type);
  }

  get status() { return this.#status; }
  get statusText() { return this.#statusText ?? ""; }
  get ok() { return this.#status < 300; }
  get type() { return "default"; }
  get url() { return ""; }
  get redirected() { return false; }
  get headers() {
    if (this.#headers === undefined) {
      this.#headers = new Headers();
      for (let at = 0; at < this.#list.length; at += 2) this.#headers.append(this.#list[at], this.#list[at + 1]);
      this.#list = undefined;
    }
    return this.#headers;
  }
  get bodyUsed() { return this.#platform?.bodyUsed ?? this.#isUsed; }
  get body() { return this.#body === null ? null : this.#made().body; }

  // The platform's response with the same body, which then is its.
  #made() {
    if (this.#body instanceof FileBody) {
      throw new TypeError("the body of this response is a file that the server sends: it cannot be read, and goes along only with its response");
    }
    this.#platform ??= new PlatformResponse(this.#body, { headers: this.headers });
    return this.#platform;
  }
  // Text without a way around the platform.
  async text() {
    if (typeof this.#body !== "string" || this.#platform !== undefined) return this.#made().text();
    if (this.#isUsed) throw new TypeError("the body has already been read");
    this.#isUsed = true;
    return this.#body;
  }
  async json() { return JSON.parse(await this.text()); }
  async arrayBuffer() { return this.#made().arrayBuffer(); }
  async bytes() { return new Uint8Array(await this.#made().arrayBuffer()); }
  async blob() { return this.#made().blob(); }
  async formData() { return this.#made().formData(); }
  clone() {
    if (this.bodyUsed) throw new TypeError("the body has already been read");
    let body = this.#body;
    if (body instanceof ReadableStream || this.#platform !== undefined) {
      const twin = this.#made().clone();
      body = twin.body;
    }
    return new Response(MADE, [this.#status, [...this.headers].flat(), body, this.#statusText]);
  }

  static json(value, init = undefined) {
    const text = JSON.stringify(value);
    if (text === undefined) throw new TypeError("Response.json: the value has no JSON");
    const made = new Response(text, init);
    if (!new Headers(init?.headers ?? undefined).has("content-type")) made.headers.set("content-type", "application/json");
    return made;
  }
  static redirect(url, status = 302) {
    if (![301, 302, 303, 307, 308].includes(status)) throw new RangeError(`Response.redirect: invalid status ${status}`);
    // An absolute URL is written in its serialised form; a path stays relative to the site.
    const text = String(url);
    const base = "http://relative.invalid";
    const parsed = new URL(text, base);
    if (parsed.origin === base && !text.startsWith("/")) throw new TypeError(`Response.redirect: Invalid URL: ${text}`);
    const location = parsed.origin === base ? parsed.href.slice(base.length) : parsed.href;
    return new Response(MADE, [status, ["location", location], null, ""]);
  }
  static error() {
    return new Response(MADE, [0, [], null, ""]);
  }
  static [Symbol.hasInstance](value) {
    // Subclasses inherit this function.
    if (this !== Response) return apply(Function.prototype[Symbol.hasInstance], this, [value]);
    return typeof value === "object" && value !== null && (#status in value || value instanceof PlatformResponse);
  }

  // Whether the value is one of these.
  static isOurs(value) { return #status in value; }
  // A response as middleware gets to see it: with its status where nobody chose it. A new one, since the script may give the same again.
  static finished(given, status) {
    if (given.#statusText !== null || status === 200) return given;
    return new Response(MADE, [status, given.#headers === undefined ? [...given.#list] : [...given.#headers].flat(), given.#body, ""]);
  }
  // Its content type and its body, for the options of a builder.
  static parts(given) {
    return [given.#list?.[1] ?? given.headers.get("content-type"), given.#body];
  }
  // What native code writes: the kind is in `meta`, the value is the body, or a list of it and the headers.
  static deliver(given, status) {
    const chosen = given.#statusText === null ? status : given.#status;
    if (chosen < 200) throw new Error("Response.error() is no answer");
    if (given.bodyUsed) throw new Error("the body of this response has been read, so it cannot be sent");
    meta[1] = chosen;
    const list = given.#list;
    let body = given.#platform === undefined ? given.#body : given.#platform.body;
    if (list !== undefined && list.length === 2 && typeof body === "string") {
      const kind = kindsOfTypes[list[1]];
      if (kind !== undefined && list[0] === "content-type") {
        meta[0] = kind;
        return body;
      }
    }
    const all = list === undefined ? [...given.#headers].flat() : [...list];
    if (body instanceof FileBody) {
      meta[0] = FILE;
      body = body.path;
    } else if (body instanceof ReadableStream) {
      meta[0] = STREAM;
      meta[2] = keepStream(body);
      body = undefined;
    } else {
      meta[0] = ANSWER;
    }
    all.unshift(body);
    return all;
  }
}
const MADE = Symbol("made");
const kindsOfTypes = { __proto__: null, [types.json]: JSON_TEXT, [types.text]: TEXT, [types.html]: HTML };
setPrototypeOf(Response.prototype, PlatformResponse.prototype);
for (const name of ["isOurs", "finished", "parts", "deliver"]) defineProperty(Response, name, { enumerable: false });
const { isOurs, finished, parts: partsOf, deliver: deliverOurs } = Response;
for (const name of ["isOurs", "finished", "parts", "deliver"]) delete Response[name];
defineProperty(Response, "name", { value: "Response" });
defineProperty(globalThis, "Response", { value: Response, writable: true, configurable: true });

const isResponse = (value) => typeof value === "object" && value !== null && (isOurs(value) || value instanceof PlatformResponse);
const response = (status, list, body, statusText = "") => new Response(MADE, [status, list, body, statusText]);
const bytesOf = (value) => {
  if (value instanceof Uint8Array) return value;
  return ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value);
};
// A body that the server puts in: the file at a path in the project's folder.
class FileBody {
  constructor(path) { this.path = path; }
}
