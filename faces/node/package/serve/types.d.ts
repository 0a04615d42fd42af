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

/** What stands at a pattern: a handler, an answer that is always the same, or those by method. What answers GET answers HEAD. */
export type ServeRoute<Pattern extends string = string> =
  | ServeHandler<Pattern>
  | Response
  | { [Method in ServeMethod | Lowercase<ServeMethod>]?: ServeHandler<Pattern> | Response };

/** By pattern: `/users/:id`, `/files/*rest`. What is more specific wins, in whatever order. */
export type ServeRoutes<Patterns extends string = string> = { [Pattern in Patterns]: ServeRoute<Pattern> };

/** What `server.reload` can change. What is not named stays. */
export interface ReloadOptions<Patterns extends string = string> {
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
}

/** The options of `serve`: routes, or `fetch`, or both, and how to listen. A name that is not here is an error. */
export type ServeOptions<Patterns extends string = string> = ListenOptions & ReloadOptions<Patterns> &
  ({ routes: ServeRoutes<Patterns> } | { fetch: ServeHandler });

/** Where and how a server listens. */
export interface ListenOptions {
  /** 0 for any that is free. Default: the environment's `PORT`, else 3000. */
  port?: number | string;
  /** Default: `0.0.0.0`. */
  hostname?: string;
  /** The most bytes of a request's body; above it the client gets 413. Default: 128 MiB. */
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
}

/** A server that runs. */
export interface Server {
  readonly port: number;
  readonly hostname: string;
  readonly url: URL;
  /** Requests that wait for their handler. */
  readonly pendingRequests: number;
  /** Stops accepting, and ends once the requests in flight are answered; at once with `true`. A handler that awaits it waits for itself. */
  stop(closeActiveConnections?: boolean): Promise<void>;
  /** Puts other routes and handlers in place, for all requests to come. What is not named stays. */
  reload<Patterns extends string = string>(options: ReloadOptions<Patterns>): this;
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
export function serve<Patterns extends string = string>(options: ServeOptions<Patterns>): Server;
