/** The address of a client. */
export interface ClientAddress {
  address: string;
  port: number;
  family: "IPv4" | "IPv6";
}

/** A request that `serve` gives to a handler: a `Request`, with the parameters of the route's pattern, decoded. */
export interface ServedRequest<Params extends Record<string, string> = Record<string, string>> extends Request {
  readonly params: Params;
}

/** What a handler may give: an object that is no `Response` is sent as JSON, a string as text, bytes as they are, nothing as 204. */
export type Served = Response | string | Uint8Array | object | null | undefined | void;

/** Answers requests. Called with the server as `this` and as the second argument. */
export type ServeHandler = (this: Server, request: ServedRequest, server: Server) => Served | Promise<Served>;

/** What stands at a pattern: a handler, an answer that is always the same, or those by method. */
export type ServeRoute =
  | ServeHandler
  | Response
  | Partial<Record<"GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS", ServeHandler | Response>>;

/** The options of `serve`. A name that is not here is an error. */
export interface ServeOptions {
  /** 0 for any that is free. Default: the environment's `PORT`, else 3000. */
  port?: number | string;
  /** Default: `0.0.0.0`. */
  hostname?: string;
  /** By pattern: `/users/:id`, `/files/*rest`. What is more specific wins, in whatever order. */
  routes?: Record<string, ServeRoute>;
  /** Answers what no route answers. */
  fetch?: ServeHandler;
  /** The answer when a handler failed. Without it: 500, and the error on standard error. */
  error?: (this: Server, error: unknown, request?: ServedRequest) => Served | Promise<Served>;
  /** The most bytes of a request's body; above it the client gets 413. Default: 128 MiB. */
  maxBody?: number;
  /** Bun's name of the same. */
  maxRequestBodySize?: number;
  /** The most connections at one time; above it clients get 503. Default: 16,384. */
  maxConnections?: number;
  /** Seconds that a connection may be idle between two requests; 0 for the default, 75. */
  idleTimeout?: number;
  /** Seconds that a handler may take; above it the client gets 504. 0 for the default, 30. */
  handlerTimeout?: number;
  /** Ends the server at once when it is aborted. */
  signal?: AbortSignal;
  /** Whether answers to failed requests show the error's stack. Default: no. */
  development?: boolean;
}

/** A server that runs. */
export interface Server {
  readonly port: number;
  readonly hostname: string;
  readonly url: URL;
  /** Requests that wait for their handler. */
  readonly pendingRequests: number;
  /** Stops accepting, and ends once the requests in flight are answered; at once with `true`. */
  stop(closeActiveConnections?: boolean): Promise<void>;
  /** Puts other routes and handlers in place, for all requests to come. */
  reload(options: Pick<ServeOptions, "routes" | "fetch" | "error" | "development">): this;
  /** The client of a request; `null` once that is over. */
  requestIP(request: Request): ClientAddress | null;
  /** Whether the server keeps the program alive, as it does from the start. */
  ref(): void;
  unref(): void;
  [Symbol.dispose](): void;
}

/**
 * Serves HTTP, in the form that `Bun.serve` has.
 *
 * @throws TypeError what is wrong with an option or a route; Error if the port is in use.
 */
export function serve(options: ServeOptions): Server;
