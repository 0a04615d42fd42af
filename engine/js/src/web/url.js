// URL and URLSearchParams (WHATWG URL). Parsing and the setters are native (the `url` crate); a URL
// keeps its serialised form and the offsets of its parts, so that a getter is one substring.
(function url({ p, native, tag, need, usv }) {
  const { parse, set, origin, parseQuery, serialiseQuery } = native("url");
  const { TypeError } = p;

  // Offsets into `href`, in the order in which native code gives them.
  const SCHEME_END = 1, USERNAME_END = 2, PASSWORD_START = 3, PASSWORD_END = 4, HOST_START = 5,
    HOST_END = 6, PORT_START = 7, PORT_END = 8, PATH_START = 9, PATH_END = 10, QUERY_END = 11,
    USERNAME_START = 12;

  let takePairs;
  let linkPairs;

  class URLSearchParams {
    #pairs = [];
    #changed = undefined;

    static {
      takePairs = (value) =>
        typeof value === "object" && value !== null && #pairs in value ? value.#pairs : undefined;
      linkPairs = (params, pairs, changed) => {
        params.#pairs = pairs;
        params.#changed = changed;
      };
    }

    constructor(init = undefined) {
      if (init === undefined) return;
      if (init === null || (typeof init !== "object" && typeof init !== "function")) {
        let text = usv(init);
        if (p.charCode(text, 0) === 0x3f) text = p.substring(text, 1);
        this.#pairs = parseQuery(text);
      } else if (init[Symbol.iterator] !== undefined && init[Symbol.iterator] !== null) {
        for (const item of init) {
          const pair = [...item];
          if (pair.length !== 2) throw new TypeError("URLSearchParams: each entry must have a name and a value");
          p.push(this.#pairs, usv(pair[0]), usv(pair[1]));
        }
      } else {
        const keys = p.ownKeys(init);
        for (let i = 0; i < keys.length; i++) {
          if (!p.getOwnPropertyDescriptor(init, keys[i])?.enumerable) continue;
          if (typeof keys[i] === "symbol") throw new TypeError("URLSearchParams: a symbol cannot be a name");
          this.#put(usv(keys[i]), usv(init[keys[i]]));
        }
      }
    }

    // Names that differ only in a lone surrogate become one: the last value stays.
    #put(name, value) {
      for (let i = 0; i < this.#pairs.length; i += 2) {
        if (this.#pairs[i] === name) {
          this.#pairs[i + 1] = value;
          return;
        }
      }
      p.push(this.#pairs, name, value);
    }

    #update() {
      if (this.#changed !== undefined) this.#changed(serialiseQuery(this.#pairs));
    }

    get size() {
      return this.#pairs.length / 2;
    }
    append(name, value) {
      need(2, arguments, "URLSearchParams.append");
      p.push(this.#pairs, usv(name), usv(value));
      this.#update();
    }
    delete(name, value = undefined) {
      need(1, arguments, "URLSearchParams.delete");
      name = usv(name);
      if (value !== undefined) value = usv(value);
      const kept = [];
      for (let i = 0; i < this.#pairs.length; i += 2) {
        const same = this.#pairs[i] === name && (value === undefined || this.#pairs[i + 1] === value);
        if (!same) p.push(kept, this.#pairs[i], this.#pairs[i + 1]);
      }
      this.#pairs = kept;
      this.#update();
    }
    get(name) {
      need(1, arguments, "URLSearchParams.get");
      name = usv(name);
      for (let i = 0; i < this.#pairs.length; i += 2) if (this.#pairs[i] === name) return this.#pairs[i + 1];
      return null;
    }
    getAll(name) {
      need(1, arguments, "URLSearchParams.getAll");
      name = usv(name);
      const values = [];
      for (let i = 0; i < this.#pairs.length; i += 2) {
        if (this.#pairs[i] === name) p.push(values, this.#pairs[i + 1]);
      }
      return values;
    }
    has(name, value = undefined) {
      need(1, arguments, "URLSearchParams.has");
      name = usv(name);
      if (value !== undefined) value = usv(value);
      for (let i = 0; i < this.#pairs.length; i += 2) {
        if (this.#pairs[i] === name && (value === undefined || this.#pairs[i + 1] === value)) return true;
      }
      return false;
    }
    set(name, value) {
      need(2, arguments, "URLSearchParams.set");
      name = usv(name);
      value = usv(value);
      const kept = [];
      let placed = false;
      for (let i = 0; i < this.#pairs.length; i += 2) {
        if (this.#pairs[i] !== name) p.push(kept, this.#pairs[i], this.#pairs[i + 1]);
        else if (!placed) {
          p.push(kept, name, value);
          placed = true;
        }
      }
      if (!placed) p.push(kept, name, value);
      this.#pairs = kept;
      this.#update();
    }
    // By name in UTF-16 code units; equal names keep their order.
    sort() {
      const entries = [];
      for (let i = 0; i < this.#pairs.length; i += 2) p.push(entries, [this.#pairs[i], this.#pairs[i + 1]]);
      p.sort(entries, (a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
      const pairs = [];
      for (let i = 0; i < entries.length; i++) p.push(pairs, entries[i][0], entries[i][1]);
      this.#pairs = pairs;
      this.#update();
    }
    forEach(callback, thisArg = undefined) {
      if (typeof callback !== "function") throw new TypeError("URLSearchParams.forEach: the argument must be a function");
      for (let i = 0; i < this.#pairs.length; i += 2) {
        p.apply(callback, thisArg, [this.#pairs[i + 1], this.#pairs[i], this]);
      }
    }
    *entries() {
      for (let i = 0; i < this.#pairs.length; i += 2) yield [this.#pairs[i], this.#pairs[i + 1]];
    }
    *keys() {
      for (let i = 0; i < this.#pairs.length; i += 2) yield this.#pairs[i];
    }
    *values() {
      for (let i = 0; i < this.#pairs.length; i += 2) yield this.#pairs[i + 1];
    }
    toString() {
      return serialiseQuery(this.#pairs);
    }
  }
  p.defineProperty(URLSearchParams.prototype, Symbol.iterator, {
    value: URLSearchParams.prototype.entries, writable: true, configurable: true,
  });
  tag(URLSearchParams, "URLSearchParams");

  class URL {
    #parts;
    #params = undefined;

    constructor(input, base = undefined) {
      input = usv(input);
      this.#parts = parse(input, base === undefined ? undefined : usv(base));
      if (this.#parts === undefined) throw new TypeError(`Invalid URL: ${input}`);
    }
    static canParse(input, base = undefined) {
      return parse(usv(input), base === undefined ? undefined : usv(base)) !== undefined;
    }
    static parse(input, base = undefined) {
      try {
        return new URL(input, base);
      } catch {
        return null;
      }
    }

    #cut(from, to) {
      const parts = this.#parts;
      return p.substring(parts[0], parts[from], to === undefined ? parts[0].length : parts[to]);
    }
    #change(part, value) {
      this.#parts = set(this.#parts[0], part, usv(value)) ?? this.#parts;
    }
    // The query of the URL changed from outside: the linked parameters follow.
    #relink() {
      if (this.#params === undefined) return;
      const pairs = parseQuery(p.substring(this.search, 1));
      linkPairs(this.#params, pairs, (query) => this.#change("search", query));
    }

    get href() {
      return this.#parts[0];
    }
    set href(value) {
      const parts = parse(usv(value), undefined);
      if (parts === undefined) throw new TypeError(`Invalid URL: ${value}`);
      this.#parts = parts;
      this.#relink();
    }
    get origin() {
      return origin(this.#parts[0]);
    }
    get protocol() {
      return p.substring(this.#parts[0], 0, this.#parts[SCHEME_END]);
    }
    set protocol(value) {
      this.#change("protocol", value);
    }
    get username() {
      return this.#cut(USERNAME_START, USERNAME_END);
    }
    set username(value) {
      this.#change("username", value);
    }
    get password() {
      return this.#cut(PASSWORD_START, PASSWORD_END);
    }
    set password(value) {
      this.#change("password", value);
    }
    get host() {
      return this.#cut(HOST_START, PORT_END);
    }
    set host(value) {
      this.#change("host", value);
    }
    get hostname() {
      return this.#cut(HOST_START, HOST_END);
    }
    set hostname(value) {
      this.#change("hostname", value);
    }
    get port() {
      return this.#cut(PORT_START, PORT_END);
    }
    set port(value) {
      this.#change("port", value);
    }
    get pathname() {
      return this.#cut(PATH_START, PATH_END);
    }
    set pathname(value) {
      this.#change("pathname", value);
    }
    get search() {
      const text = this.#cut(PATH_END, QUERY_END);
      return text === "?" ? "" : text;
    }
    set search(value) {
      this.#change("search", value);
      this.#relink();
    }
    get searchParams() {
      if (this.#params === undefined) {
        this.#params = new URLSearchParams();
        this.#relink();
      }
      return this.#params;
    }
    get hash() {
      const text = this.#cut(QUERY_END, undefined);
      return text === "#" ? "" : text;
    }
    set hash(value) {
      this.#change("hash", value);
    }
    toString() {
      return this.#parts[0];
    }
    toJSON() {
      return this.#parts[0];
    }
  }
  tag(URL, "URL");

  // The text of a URLSearchParams, undefined for anything else; for request and response bodies.
  function queryOf(value) {
    const pairs = takePairs(value);
    return pairs === undefined ? undefined : serialiseQuery(pairs);
  }

  return { URL, URLSearchParams, queryOf };
})
