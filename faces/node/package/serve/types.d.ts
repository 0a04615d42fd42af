/** The address of a client. */
export interface ClientAddress {
  address: string;
  port: number;
  family: "IPv4" | "IPv6";
}

/** A request that `serve` gives to a handler: a `Request`, with the parameters of the route's pattern, decoded. */
export interface ServedRequest<RouteParams = Record<string, string>> extends Request {
  readonly params: RouteParams;
}

/**
 * What a handler may give: a string is sent as text, bytes, blobs and streams as what they are, nothing as 204, all else as JSON. A `Map`, a
 * `Set`, an `Error` and a `Request` are errors.
 */
export type Served = Response | string | number | boolean | object | null | undefined | void;

/** Answers requests. Called with the server as `this` and as the second argument. */
export type ServeHandler<Pattern extends string = string> = (
  this: Server,
  request: ServedRequest<Params<Pattern>>,
  server: Server,
) => Served | Promise<Served>;

type ServeMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";

/** What stands at a pattern: a handler, an answer that is always the same, or those by method. What answers GET answers HEAD: there is no `HEAD`. */
export type ServeRoute<Pattern extends string = string> =
  | ServeHandler<Pattern>
  | Response
  | { [Method in ServeMethod | Lowercase<ServeMethod>]?: ServeHandler<Pattern> | Response };

/** By pattern: `/users/:id`, `/files/*rest`. What is more specific wins, in whatever order. */
export type ServeRoutes<Patterns extends string = string> = { [Pattern in Patterns]: ServeRoute<Pattern> };

/** A message of a WebSocket: a string, or bytes. */
type SocketMessage = string | ArrayBufferView | ArrayBuffer | SharedArrayBuffer;

/** `Buffer`, where the platform's types know it. */
type Bytes = typeof globalThis extends { Buffer: { alloc(size: number): infer B } } ? B : Uint8Array;

/** A WebSocket as the functions of `websocket` get it, in the form of Bun's. */
export interface ServerWebSocket<T = any> {
  /** What `server.upgrade` was given. */
  data: T;
  /** The address of the client; empty for a Unix socket. */
  readonly remoteAddress: string;
  /** 1 open, 2 closing, 3 closed. */
  readonly readyState: 1 | 2 | 3;
  /** The form of bytes that come. Default: `nodebuffer`. */
  binaryType: "nodebuffer" | "uint8array" | "arraybuffer";
  /** The topics of the socket. */
  readonly subscriptions: string[];
  /** Sends a message. Returns its bytes, -1 if it waits for a client that does not read, 0 if it was dropped. */
  send(data: SocketMessage, compress?: boolean): number;
  sendText(data: string, compress?: boolean): number;
  sendBinary(data: Exclude<SocketMessage, string>, compress?: boolean): number;
  ping(data?: SocketMessage): number;
  pong(data?: SocketMessage): number;
  /** Closes the socket, behind what was sent before. Default: 1000. */
  close(code?: number, reason?: string): void;
  /** Ends the connection without a close frame. */
  terminate(): void;
  subscribe(topic: string): void;
  unsubscribe(topic: string): void;
  isSubscribed(topic: string): boolean;
  /** Sends a message to the other sockets of a topic. Returns as `send`, and 0 if there are none. */
  publish(topic: string, data: SocketMessage, compress?: boolean): number;
  publishText(topic: string, data: string, compress?: boolean): number;
  publishBinary(topic: string, data: Exclude<SocketMessage, string>, compress?: boolean): number;
  /** Calls the function with the socket. What is sent in one turn is written at once anyway. */
  cork<R>(callback: (ws: ServerWebSocket<T>) => R): R;
  /** The bytes that wait for the client. */
  getBufferedAmount(): number;
}

/** The functions for WebSockets, and their limits. `reload` changes the functions for all, the limits for sockets to come. */
export interface WebSocketHandler<T = any> {
  /** Only for the type of `ws.data`, as `{} as { name: string }`. */
  data?: T;
  message(ws: ServerWebSocket<T>, message: string | Bytes): void | Promise<void>;
  open?(ws: ServerWebSocket<T>): void | Promise<void>;
  /** What was held back has been written. */
  drain?(ws: ServerWebSocket<T>): void | Promise<void>;
  /** 1006 if the connection ended without a close frame. */
  close?(ws: ServerWebSocket<T>, code: number, reason: string): void | Promise<void>;
  ping?(ws: ServerWebSocket<T>, data: Bytes): void | Promise<void>;
  pong?(ws: ServerWebSocket<T>, data: Bytes): void | Promise<void>;
  /**
   * The longest message, in bytes; above it the socket is closed with 1009. At most the platform's longest string, which
   * is 512 MiB in Node.js. Default: 16 MiB.
   */
  maxPayloadLength?: number;
  /** The most bytes that may wait for a client; above it messages are dropped. Default: 16 MiB. */
  backpressureLimit?: number;
  /** Whether a socket above that is closed with 1013 instead. Default: no. */
  closeOnBackpressureLimit?: boolean;
  /** Seconds without a word of the client after which a socket is closed; 0 for never. Default: 120. */
  idleTimeout?: number;
  /** Whether pings keep silent clients. Default: yes. */
  sendPings?: boolean;
  /** Whether messages that are sent with `compress` may be compressed. No window is kept between messages. Default: no. */
  perMessageDeflate?: boolean | { compress?: true | "shared"; decompress?: true | "shared" };
  /** Whether `ws.publish` sends to the socket itself too. Default: no. */
  publishToSelf?: boolean;
}

/** PEM: text, bytes, a file of `Bun.file`, or several of them. */
type Pem = string | ArrayBufferView | ArrayBuffer | Blob | Pem[];

/** A certificate and its key. */
export interface TlsOptions {
  /** The certificate, and behind it those of the authorities between it and the root. */
  cert?: Pem;
  key?: Pem;
  /** Paths in their place. */
  certFile?: string;
  keyFile?: string;
  caFile?: string;
  /** Opens the key. */
  passphrase?: string;
  /** In a list: a name that the certificate is for. Clients get the first certificate that has the name they ask for. */
  serverName?: string;
  /** Asks clients for a certificate, of one of the authorities in `ca`. */
  requestCert?: boolean;
  ca?: Pem;
  /** `false`: clients without a certificate are served too. */
  rejectUnauthorized?: boolean;
}

/** What `server.reload` can change. What is not named stays. */
export interface ReloadOptions<Patterns extends string = string, Data = any> {
  routes?: ServeRoutes<Patterns>;
  /** Answers what no route answers. */
  fetch?: ServeHandler;
  /**
   * The answer when a handler failed. A `Response` keeps its status; other values get that of the error: its `status` from 400 to 599, else
   * 500. Without it: that status, and from 500 the error on standard error.
   */
  error?: (this: Server, error: any, request: ServedRequest) => Served | Promise<Served>;
  /** Whether answers to failed requests show the error's stack. Default: no. */
  development?: boolean;
  /** WebSockets: what becomes of a request that `server.upgrade` takes. */
  websocket?: WebSocketHandler<Data>;
}

/** The options of `serve`: routes, or `fetch`, or both, and how to listen. A name that is not here is an error. */
export type ServeOptions<Patterns extends string = string, Data = any> = ListenOptions & ReloadOptions<Patterns, Data> &
  ({ routes: ServeRoutes<Patterns> } | { fetch: ServeHandler });

/** Where and how a server listens. */
export interface ListenOptions {
  /** 0 for any that is free. Default: the environment's `PORT`, else 3000. */
  port?: number | string;
  /** Default: `0.0.0.0`. */
  hostname?: string;
  /** The most bytes of a request's body, below 2 GiB; above it the client gets 413. Default: 128 MiB. */
  maxBody?: number;
  /** Bun's name of the same: give one of them. */
  maxRequestBodySize?: number;
  /** The most connections at one time; above it clients get 503. Default: 16,384. */
  maxConnections?: number;
  /** Seconds that a connection may be idle between two requests; 0 for the default, 75. */
  idleTimeout?: number;
  /** Seconds that a handler may take; above it the client gets 504. 0 for the default, 30. */
  handlerTimeout?: number;
  /** Ends the server at once when it is aborted. */
  signal?: AbortSignal;
  /** HTTPS, with HTTP/2: a certificate, or several by name. */
  tls?: TlsOptions | TlsOptions[];
}

/** A server that runs. */
export interface Server {
  readonly port: number;
  readonly hostname: string;
  readonly url: URL;
  /** Requests that wait for their handler. */
  readonly pendingRequests: number;
  /** WebSockets that are open. */
  readonly pendingWebSockets: number;
  /**
   * Answers a request by a WebSocket: return nothing from the handler then. False if the request asks for none. `headers` are sent with the
   * answer; the client's first subprotocol is chosen unless they name one.
   */
  upgrade<T = any>(request: Request, options?: { data?: T; headers?: ConstructorParameters<typeof Headers>[0] }): boolean;
  /** Sends a message to all WebSockets of a topic. Returns its bytes, -1 if it waits for some client, 0 if nobody got it. */
  publish(topic: string, data: SocketMessage, compress?: boolean): number;
  subscriberCount(topic: string): number;
  /**
   * Stops accepting, and ends once the requests in flight are answered, which have `handlerTimeout` and ten seconds more; at once with `true`.
   * A handler that awaits it waits for itself.
   */
  stop(closeActiveConnections?: boolean): Promise<void>;
  /** Puts other routes and handlers in place, for all requests to come. What is not named stays. */
  reload<Patterns extends string = string, Data = any>(options: ReloadOptions<Patterns, Data>): this;
  /** The client of a request; `null` once that is over. */
  requestIP(request: Request): ClientAddress | null;
  /** Whether the server keeps the program alive, as it does from the start. */
  ref(): void;
  unref(): void;
  [Symbol.dispose](): void;
}

declare global {
  // As lib.esnext.disposable.d.ts has it, for programs that do without that.
  interface SymbolConstructor {
    readonly dispose: unique symbol;
  }
}

/**
 * Serves HTTP, in the form that `Bun.serve` has.
 *
 * @throws TypeError what is wrong with an option or a route; Error with `code`, as `EADDRINUSE`, if it cannot listen.
 */
export function serve<Patterns extends string = string, Data = any>(options: ServeOptions<Patterns, Data>): Server;
