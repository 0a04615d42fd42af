// `fetch` (Fetch, section 5.6), over the rows of the module that sends requests. The server has the connections; here
// are the Web's objects, and what moves between them and those rows.
(function fetching({ p, symbols, load, host, protos, usv }) {
  const { TypeError } = p;
  const {
    status: STATUS, statusText: STATUS_TEXT, headers: HEADERS, list: LIST, body: BODY, used: USED, url: URL_TEXT,
    redirected: REDIRECTED, immutable: IMMUTABLE, signal: SIGNAL, source: SOURCE,
  } = symbols;
  const nothing = () => {};
  // Fields that are of one connection (RFC 9110, section 7.6.1), or that the server writes: a request of a client may be
  // passed on with its own.
  const NOT_SENT = { __proto__: null };
  for (const name of ["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    "host", "content-length"]) NOT_SENT[name] = true;
  const OPTIONS = ["connect", "head", "total", "idle", "bodyBytesMax", "decompress"];

  // What a request failed with, as the standard has it: a TypeError. What it was is its cause; the code and the status that an
  // uncaught one is answered with are there too. What a request that is given up fails with is passed on. `error` was made
  // where the request began, so it has the script's line.
  function failure(cause, error = new TypeError()) {
    if (cause?.code === "cancelled") return cause;
    if (cause?.name === "InternalError" && cause.message === "out of memory") outgrown(cause);
    set(error, "message", `fetch failed: ${cause?.message}`);
    set(error, "cause", cause);
    for (const name of ["code", "status"]) {
      const value = cause?.[name];
      if (value !== undefined) set(error, name, value);
    }
    return error;
  }

  // What a piece of an answer failed with for which the isolate has no memory is told as in Lua.
  function outgrown(cause) {
    set(cause, "message", "the answer needs more memory than memory_bytes_max leaves: read it as a stream");
    set(cause, "code", "fetch_too_large");
    set(cause, "status", 502);
  }

  const set = (error, name, value) => p.defineProperty(error, name, { value, writable: true, configurable: true });

  function headerList(list) {
    const sent = [];
    for (let i = 0; i < list.length; i += 2) {
      if (!(list[i] in NOT_SENT)) p.push(sent, list[i], list[i + 1]);
    }
    return sent;
  }

  function lengthOf(list) {
    for (let i = 0; i < list.length; i += 2) {
      const length = list[i] === "content-length" ? p.Number(list[i + 1]) : NaN;
      if (length >= 0 && length === p.floor(length) && length <= 9007199254740991) return length;
    }
    return undefined;
  }

  // `init.sampan`: what the standard has no option for.
  function extras(given, into) {
    if (given === undefined) return;
    if (typeof given !== "object" || given === null) throw new TypeError("fetch: the option sampan must be an object");
    const timeout = {};
    for (const name of p.keys(given)) {
      if (p.indexOf(OPTIONS, name) === -1) {
        throw new TypeError(`fetch: unknown option 'sampan.${name}'; the options are ${p.join(OPTIONS, ", ")}`);
      }
      const value = given[name];
      if (value === undefined) continue;
      if (name === "bodyBytesMax") into.body_bytes_max = value;
      else if (name === "decompress") into.decompress = value;
      else timeout[name] = value;
    }
    if (p.keys(timeout).length > 0) into.timeout = timeout;
  }

  // A body that is there as a whole; undefined for a stream.
  function contentOf(body) {
    if (body === null || typeof body === "string" || p.typedTag(body) !== undefined) return body;
    return body[SOURCE];
  }

  // Feeds a stream to a request. What the stream fails with is what `failed` is told.
  async function feed(stream, call, failed) {
    const { openForHost, cancelForHost } = load("stream_bodies");
    let next;
    try {
      next = openForHost(stream);
    } catch (error) {
      call.abort();
      return failed(error);
    }
    for (;;) {
      let chunk;
      try {
        chunk = await next();
      } catch (error) {
        call.abort();
        return failed(error);
      }
      try {
        if (chunk === null) return call.finish();
        await call.write(chunk);
      } catch (error) {
        // The server takes no more, and may have answered. If not, the request itself fails.
        return cancelForHost(stream, error);
      }
    }
  }

  // The rest of a body that was not there with the head.
  function restOf(rest, signal) {
    const { errorController, stateOf } = load("readable");
    let off = nothing;
    const ended = (bytes) => {
      if (bytes === null) off();
      return bytes;
    };
    // A read that waits is not one of the stream's own, so the abort's reason is given to it here.
    const reasonOf = (error) => (signal?.aborted ? signal.reason : failure(error));
    const failed = (error) => {
      off();
      throw reasonOf(error);
    };
    const cancel = () => {
      off();
      try {
        rest.cancel();
      } catch {
        // It has ended with its request.
      }
    };
    const read = () => {
      try {
        return p.then(rest.read(), ended, failed);
      } catch (error) {
        return p.rejected(reasonOf(error));
      }
    };
    const stream = load("stream_bodies").fromReads(read, cancel);
    if (signal !== undefined) {
      off = load("abort").addSteps(signal, (reason) => {
        errorController(stateOf(stream).controller, reason);
        cancel();
      });
    }
    return stream;
  }

  function responseOf(answer, signal) {
    const { status, rest } = answer;
    const response = {
      __proto__: protos.response,
      [STATUS]: status,
      [STATUS_TEXT]: answer.reason,
      [HEADERS]: { __proto__: protos.headers, [LIST]: answer.headers, [IMMUTABLE]: true },
      [BODY]: rest === undefined ? answer.body ?? null : restOf(rest, signal),
      [USED]: false,
      [URL_TEXT]: answer.url,
    };
    if (answer.redirected) response[REDIRECTED] = true;
    return response;
  }

  function begin(input, init) {
    const { client } = host;
    if (client === undefined) throw new TypeError("fetch: requests cannot be sent here");
    const here = new TypeError();
    const failed = (cause) => { throw failure(cause, here); };
    if (typeof input === "string" && init === undefined) {
      return p.then(client.send({ url: usv(input), latin1: true }), responseOf, failed);
    }
    const { Request } = load("request");
    const request = new Request(input, init);
    const list = request[HEADERS][LIST];
    const sent = {
      url: request.url, method: request.method, headers: headerList(list), latin1: true, redirect: request.redirect,
    };
    extras(init?.sampan, sent);
    const signal = request[SIGNAL];
    if (signal?.aborted) return p.rejected(signal.reason);
    const body = request[BODY];
    const content = contentOf(body);
    if (content === undefined) return attended(client, sent, here, signal, body, lengthOf(list));
    if (content !== null) sent.body = content;
    if (signal !== undefined) return attended(client, sent, here, signal);
    return p.then(client.send(sent), responseOf, failed);
  }

  // A request that may be aborted, or whose body is a stream.
  function attended(client, sent, here, signal, stream = undefined, length = undefined) {
    const call = client.call(stream !== undefined, length);
    return new p.Promise((resolve, reject) => {
      let off = nothing;
      const failed = (error) => {
        off();
        reject(error);
      };
      if (signal !== undefined) {
        off = load("abort").addSteps(signal, (reason) => {
          call.abort();
          if (stream !== undefined) load("stream_bodies").cancelForHost(stream, reason);
          reject(reason);
        });
      }
      const answered = (answer) => {
        off();
        if (signal?.aborted) answer.rest?.cancel();
        resolve(responseOf(answer, signal));
      };
      p.then(client.send(sent, call), answered, (cause) => failed(failure(cause, here)));
      if (stream !== undefined) p.then(feed(stream, call, failed), undefined, failed);
    });
  }

  function fetch(input, init = undefined) {
    try {
      if (arguments.length === 0) throw new TypeError("fetch: a URL or a Request is needed");
      return begin(input, init);
    } catch (error) {
      return p.rejected(error);
    }
  }

  return { fetch };
})
