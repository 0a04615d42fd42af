// Functions of such modules declare routes.
const routeKinds = modules.routeKinds ?? {};
delete modules.routeKinds;
const capital = (kind) => kind[0].toUpperCase() + kind.slice(1);

// Has an answer keep the fields that the script has set on a request, as far as JSON has their values.
function keepFields(keep, request) {
  const names = keys(request);
  names.push("state");
  for (const name of names) {
    try {
      apply(keep, request, [name, request[name]]);
    } catch {
      // JSON has no such value.
    }
  }
}

// The Web way to sockets: `upgrade(request, options)` gives an object with the interface of the Web's WebSocket
// (https://websockets.spec.whatwg.org), and the answer that makes a socket of the request.
const STATES = { CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 };
const SOCKET_EVENTS = ["open", "message", "error", "close"];
const REASON_BYTES_MAX = 123;

function socketEvent(type, fields) {
  const Class = { message: globalThis.MessageEvent, close: globalThis.CloseEvent }[type];
  if (Class !== undefined) return new Class(type, fields);
  const event = new Event(type);
  for (const name of keys(fields)) defineProperty(event, name, { value: fields[name], enumerable: true });
  return event;
}

// Made when a script asks for the first one, because few do.
let SocketClass;
function socketClass() {
  class WebSocket extends EventTarget {
    #native;
    #state = STATES.CONNECTING;
    // The code and the reason of an end that was asked for before the socket was open.
    #early;
    #url;
    #listeners = [];
    #attributes = {};
    #binaryType = "blob";
    // Settled when all that waits for a Blob has been sent; undefined while nothing does.
    #reading;

    constructor(url) {
      super();
      this.#url = url.replace(/^http/, "ws");
    }
    get url() { return this.#url; }
    get readyState() { return this.#state; }
    get bufferedAmount() { return this.#native?.buffered ?? 0; }
    get protocol() { return this.#native?.protocol ?? ""; }
    get extensions() { return ""; }
    get binaryType() { return this.#binaryType; }
    set binaryType(type) { if (type === "blob" || type === "arraybuffer") this.#binaryType = type; }

    send(data) {
      if (this.#state === STATES.CONNECTING) throw new DOMException("send: the socket is not open yet", "InvalidStateError");
      if (this.#reading !== undefined || data instanceof Blob) this.#sendLater(data);
      else this.#sendNow(data);
    }
    #sendNow(data) {
      if (this.#state !== STATES.OPEN) return;
      if (ArrayBuffer.isView(data)) data = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
      if (data instanceof ArrayBuffer || data instanceof Uint8Array) this.#native.sendBytes(data);
      else this.#native.send(String(data));
    }
    #sendLater(data) {
      const before = this.#reading;
      const sending = (async () => {
        await before;
        this.#sendNow(data instanceof Blob ? await data.arrayBuffer() : data);
      })();
      const mine = sending.finally(() => { if (this.#reading === mine) this.#reading = undefined; });
      this.#reading = mine;
    }
    close(code, reason) {
      if (code !== undefined && code !== 1000 && !(code >= 3000 && code <= 4999)) {
        throw new DOMException(`close: the code must be 1000, or 3000 to 4999, not ${code}`, "InvalidAccessError");
      }
      const text = reason === undefined ? undefined : String(reason);
      if (text !== undefined && new TextEncoder().encode(text).length > REASON_BYTES_MAX) {
        throw new DOMException(`close: the reason has more than ${REASON_BYTES_MAX} bytes`, "SyntaxError");
      }
      if (this.#state >= STATES.CLOSING) return;
      const wasOpen = this.#state === STATES.OPEN;
      this.#state = STATES.CLOSING;
      if (!wasOpen) this.#early = [code, text];
      else if (this.#reading === undefined) this.#native.close(code, text);
      else then(this.#reading, () => this.#native.close(code, text));
    }

    addEventListener(type, listener, options) {
      if (listener === null || listener === undefined) return;
      const { once = false, signal } = typeof options === "object" && options !== null ? options : {};
      if (signal?.aborted || this.#listeners.some((known) => known.type === type && known.listener === listener)) return;
      const added = { type: String(type), listener, once };
      this.#listeners.push(added);
      signal?.addEventListener("abort", () => this.#remove(added), { once: true });
    }
    removeEventListener(type, listener) {
      const known = this.#listeners.find((one) => one.type === type && one.listener === listener);
      if (known !== undefined) this.#remove(known);
    }
    #remove(removed) { this.#listeners = this.#listeners.filter((one) => one !== removed); }
    dispatchEvent(event) {
      this.#dispatch(event);
      return !event.defaultPrevented;
    }
    // Calls the listeners. What they return is waited for before the next event; the first error is that of the run.
    #dispatch(event) {
      for (const name of ["target", "currentTarget", "srcElement"]) {
        defineProperty(event, name, { value: this, configurable: true });
      }
      const listeners = this.#listeners.filter(({ type }) => type === event.type);
      const waiting = [];
      let failed;
      for (const one of listeners) {
        if (one.once) this.#remove(one);
        try {
          const { listener } = one;
          const isFunction = typeof listener === "function";
          const returned = awaited(isFunction ? apply(listener, this, [event]) : listener.handleEvent(event));
          if (isPromise(returned)) waiting.push(returned);
        } catch (error) {
          failed ??= { error };
        }
      }
      if (failed !== undefined) throw failed.error;
      return waiting.length === 0 ? undefined : Promise.all(waiting);
    }
    #fire(type, fields = {}) { return this.#dispatch(socketEvent(type, fields)); }

    static {
      for (const type of SOCKET_EVENTS) {
        defineProperty(this.prototype, `on${type}`, {
          get() { return this.#attributes[type]?.listener ?? null; },
          // It has the place in the order that it got first.
          set(listener) {
            const known = this.#attributes[type];
            if (typeof listener !== "function") {
              if (known !== undefined) this.#remove(known);
              this.#attributes[type] = undefined;
            } else if (known !== undefined) known.listener = listener;
            else this.#listeners.push(this.#attributes[type] = { type, listener });
          },
          enumerable: true,
          configurable: true,
        });
      }
      for (const owner of [this, this.prototype]) {
        for (const name of keys(STATES)) defineProperty(owner, name, { value: STATES[name], enumerable: true });
      }
      defineProperty(this.prototype, Symbol.toStringTag, { value: "WebSocket", configurable: true });
    }
    // What the server calls for each event.
    static handler(socket) {
      return (event, object, first, second) => {
        socket.#native = object;
        if (event === "open") {
          if (socket.#early !== undefined) return object.close(...socket.#early);
          socket.#state = STATES.OPEN;
          return socket.#fire("open");
        }
        if (event === "message") {
          if (socket.#state !== STATES.OPEN) return undefined;
          let data = first;
          if (!second && socket.#binaryType === "blob") data = new Blob([first]);
          else if (!second) data = first.buffer.slice(first.byteOffset, first.byteOffset + first.byteLength);
          return socket.#fire("message", { data, origin: /^[^/]*\/\/[^/?#]*/.exec(socket.#url)[0] });
        }
        if (event === "close") {
          socket.#state = STATES.CLOSED;
          const close = () => socket.#fire("close", { code: first, reason: second, wasClean: first !== 1006 });
          if (first !== 1006) return close();
          const told = socket.#fire("error");
          return told === undefined ? close() : then(told, close);
        }
        return undefined;
      };
    }
  }
  const { handler } = WebSocket;
  delete WebSocket.handler;
  return { WebSocket, handler };
}

let upgrade;
for (const kind of keys(routeKinds)) {
  const [accept, keep] = [addedMethods[`upgrade${capital(kind)}`], addedMethods[`keep${capital(kind)}`]];
  if (accept === undefined) continue;
  upgrade = (request, given) => {
    if (given !== undefined) check("upgrade", "map", "options", given);
    const { protocol, ...options } = given ?? {};
    if (protocol !== undefined) options.protocols = protocol;
    if (keep !== undefined) keepFields(keep, request);
    SocketClass ??= socketClass();
    const socket = new SocketClass.WebSocket(request.url);
    const type = apply(accept, request, [options, SocketClass.handler(socket)]);
    return { socket, response: responseWithFields(200, ["content-type", type], null, "") };
  };
}

