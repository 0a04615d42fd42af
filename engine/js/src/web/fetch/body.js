// What Request and Response have in common: taking in a body and reading it once (Fetch, section 2.2.4).
// It works on any object with the hooks of the engine contract (mod.rs), so also on native requests.
(function body({ p, symbols, load, peek, native, view, copy, concat, bufferOf }) {
  const {
    body: BODY, used: USED, take: TAKE, headers: HEADERS, incoming: INCOMING, file: FILE, url: URL_TEXT,
    status: STATUS,
  } = symbols;
  const { TypeError } = p;

  // What a text that is not JSON fails with. Of an answer to `fetch` it names the URL, and the client of an app that does
  // not catch it gets 502.
  function notJson(error, url) {
    if (!url || error?.name !== "SyntaxError") return error;
    const set = (name, value) => p.defineProperty(error, name, { value, writable: true, configurable: true });
    set("message", `the answer of ${url} is not JSON: ${error.message}`);
    set("code", "fetch_answer");
    set("status", 502);
    return error;
  }

  const isStream = (value) => peek("readable")?.stateOf(value) !== undefined;
  const streamState = (stream) => load("readable").stateOf(stream);

  // What a constructor was given, as { body, type }: a body of the contract and its Content-Type or null.
  function extract(value) {
    if (value === null || value === undefined) return { body: null, type: null };
    if (typeof value === "string") return { body: p.wellFormed(value), type: "text/plain;charset=UTF-8" };
    if (typeof value === "object") {
      const stream = peek("readable")?.stateOf(value);
      if (stream !== undefined) {
        if (stream.disturbed || stream.reader !== undefined) throw new TypeError("the stream has been read or is locked");
        return { body: value, type: null };
      }
      const bytes = view(value);
      if (bytes !== undefined) return { body: copy(bytes), type: null };
      const query = peek("url")?.queryOf(value);
      if (query !== undefined) return { body: query, type: "application/x-www-form-urlencoded;charset=UTF-8" };
      const blobBytes = peek("blob")?.bytesOf(value);
      if (blobBytes !== undefined) return { body: blobBytes, type: value.type === "" ? null : value.type };
      const form = peek("formdata")?.encode(value);
      if (form !== undefined) return { body: form.bytes, type: form.type };
      const open = value[Symbol.asyncIterator];
      if (open !== undefined && open !== null) return { body: pieces(p.apply(open, value, [])), type: null };
    }
    return { body: p.wellFormed(`${value}`), type: "text/plain;charset=UTF-8" };
  }

  // The strings and bytes of an async iterator as a stream, as in Node.js.
  function pieces(iterator) {
    const { next } = iterator;
    const leave = async (reason) => {
      const close = iterator.return;
      if (typeof close === "function") await p.apply(close, iterator, [reason]);
    };
    return load("readable").create({
      highWaterMark: 0,
      async pull(controller) {
        for (;;) {
          const { done, value } = await p.apply(next, iterator, []);
          if (done) return controller.close();
          const bytes = typeof value === "string" ? load("encoding").utf8(p.wellFormed(value)) : view(value);
          if (bytes === undefined) {
            await leave();
            throw new TypeError("an async iterator as a body must give strings or bytes");
          }
          if (p.typedLength(bytes) > 0) return controller.enqueue(copy(bytes));
        }
      },
      cancel: leave,
    });
  }

  // A Blob or a stream as an answer's body, [content, type]; undefined for other objects.
  function asBody(value) {
    const isOne = isStream(value) || peek("blob")?.bytesOf(value) !== undefined;
    if (!isOne) return undefined;
    const { body, type } = extract(value);
    return [body, type];
  }

  function own(owner, key, value) {
    p.defineProperty(owner, key, { value, writable: true, configurable: true });
  }
  function check(owner) {
    if (typeof owner !== "object" || owner === null || owner[USED] === undefined) {
      throw new TypeError("this is not a Request or Response");
    }
  }
  function isUsed(owner) {
    check(owner);
    const content = owner[BODY];
    if (content === null) return false;
    return owner[USED] === true || (isStream(content) && streamState(content).disturbed);
  }

  // The bytes of a file are put in by the server, after the script.
  function checkBytes(content) {
    if (content[FILE] !== undefined) {
      throw new TypeError("the body of this response is a file that the server sends: it cannot be read, and goes along only with its response");
    }
  }

  // Takes the content out: string, bytes, stream or null, or a promise of bytes from a native request.
  function take(owner) {
    check(owner);
    const content = owner[BODY];
    if (content === null) return null;
    if (content === undefined) return p.apply(owner[TAKE], owner, []);
    if (isUsed(owner)) throw new TypeError("the body has already been read");
    if (isStream(content) && streamState(content).reader !== undefined) throw new TypeError("the body is locked by a reader");
    checkBytes(content);
    own(owner, USED, true);
    return content;
  }

  async function takeBytes(owner) {
    const content = await take(owner);
    if (content === null) return new p.Uint8Array(0);
    if (typeof content === "string") return load("encoding").utf8(content);
    // A copy: the same bytes may belong to a clone, to a Blob or to the engine.
    if (!isStream(content)) return copy(content);
    return concat(await load("stream_bodies").readAll(content));
  }
  async function takeText(owner) {
    const content = await take(owner);
    if (content === null) return "";
    if (typeof content === "string") return p.charCode(content, 0) === 0xfeff ? p.substring(content, 1) : content;
    const bytes = isStream(content) ? concat(await load("stream_bodies").readAll(content)) : content;
    return load("encoding").text(bytes);
  }

  // Makes the content of a native request an own body, as a Request of a script has it.
  function settle(owner) {
    if (owner[BODY] !== undefined) return;
    const content = p.apply(owner[TAKE], owner, []);
    own(owner, BODY, isPromise(content) ? arriving(content) : content);
    own(owner, USED, false);
  }
  const isPromise = (value) =>
    typeof value === "object" && value !== null && view(value) === undefined && !isStream(value);

  function arriving(promise) {
    return load("readable").create({
      highWaterMark: 0,
      async pull(controller) {
        const content = await promise;
        const bytes = typeof content === "string" ? load("encoding").utf8(content) : content;
        if (bytes !== null && p.typedLength(bytes) > 0) controller.enqueue(bytes);
        controller.close();
      },
    });
  }

  // The content as a stream, kept so that the same stream is given each time.
  function stream(owner) {
    check(owner);
    if (owner[BODY] === undefined && owner[USED] === true) return spent(owner);
    settle(owner);
    const content = owner[BODY];
    if (content === null || isStream(content)) return content;
    if (owner[USED] === true) return spent(owner);
    checkBytes(content);
    const made = load("stream_bodies").fromSource(content);
    own(owner, BODY, made);
    return made;
  }
  // What `body` is after the content has been read: a stream that is closed and disturbed.
  function spent(owner) {
    const { create, cancelStream, stateOf } = load("readable");
    const made = create({});
    cancelStream(stateOf(made));
    own(owner, BODY, made);
    return made;
  }

  // A second body with the same content, leaving both unread. Strings and bytes are shared: nobody can write them.
  function cloneBody(owner) {
    if (isUsed(owner)) throw new TypeError("the body has already been read");
    settle(owner);
    const content = owner[BODY];
    if (content === null || !isStream(content)) return content;
    const state = streamState(content);
    if (state.reader !== undefined) throw new TypeError("the body is locked by a reader");
    const source = content[symbols.source];
    if (source !== undefined) return load("stream_bodies").fromSource(source);
    const [mine, other] = load("stream_tools").tee(state, true);
    own(owner, BODY, mine);
    return other;
  }

  // Moves the content to another owner; the first counts as read.
  function moveBody(owner) {
    if (isUsed(owner)) throw new TypeError("the body has already been read");
    settle(owner);
    return take(owner);
  }

  function contentType(owner) {
    const { getFrom, listOf } = load("headers");
    return getFrom(listOf(owner[HEADERS] ?? owner.headers), "content-type");
  }

  // Whether the body is what a client sent: a native request's, or a clone's. What is wrong with it is the client's fault.
  const isClients = (owner) => owner[TAKE] !== undefined || owner[INCOMING] === true;

  class Body {
    get body() {
      return stream(this);
    }
    get bodyUsed() {
      return isUsed(this);
    }
    async arrayBuffer() {
      return bufferOf(await takeBytes(this));
    }
    async bytes() {
      return takeBytes(this);
    }
    async text() {
      return takeText(this);
    }
    async json() {
      if (isClients(this)) return native("incoming").parse(await takeBytes(this));
      const text = await takeText(this);
      try {
        return p.parse(text);
      } catch (error) {
        throw this[STATUS] === undefined ? error : notJson(error, this[URL_TEXT]);
      }
    }
    async blob() {
      const { make, typeOf } = load("blob");
      const type = contentType(this);
      return make(await takeBytes(this), type === null ? "" : typeOf(type));
    }
    async formData() {
      const type = contentType(this);
      return load("formdata").decode(await takeBytes(this), type, isClients(this));
    }
  }

  // For streams of type "bytes": a view that has bytes, else undefined.
  function nonEmptyView(chunk) {
    return p.isView(chunk) && p.typedLength(view(chunk)) > 0 ? chunk : undefined;
  }

  return { Body, extract, asBody, cloneBody, isClients, moveBody, own, nonEmptyView };
})
