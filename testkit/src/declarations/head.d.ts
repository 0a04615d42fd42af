// What `import ... from "sampan"` gives. Made by `cargo xtask codegen`; do not edit.

@WEB@
declare module "sampan/hono" {
  import type { UpgradedSocket, UpgradedSocketEvents, SocketOptions } from "sampan";

  /** The socket as the functions of `upgradeWebSocket` get it. */
  export interface SocketContext {
    readonly raw: UpgradedSocket;
    readonly url: URL;
    readonly protocol: string;
    readonly readyState: number;
    /** What a message of bytes is; `arraybuffer` unless set. */
    binaryType: "blob" | "arraybuffer";
    send(data: string | ArrayBufferLike | ArrayBufferView | Blob): void;
    close(code?: number, reason?: string): void;
  }
  /** The functions for the events of a socket. What they return is waited for. */
  export interface SocketEvents {
    onOpen?(event: UpgradedSocketEvents["open"], ws: SocketContext): unknown;
    onMessage?(event: UpgradedSocketEvents["message"], ws: SocketContext): unknown;
    onClose?(event: UpgradedSocketEvents["close"], ws: SocketContext): unknown;
    onError?(event: UpgradedSocketEvents["error"], ws: SocketContext): unknown;
  }
  type Options = Omit<SocketOptions, "protocols"> & { protocol?: string | readonly string[] };
  /** Middleware of Hono that makes a socket of a request for one. `options` are those of `upgrade`. */
  export function upgradeWebSocket(
    createEvents: (c: any) => SocketEvents | Promise<SocketEvents>,
    options?: Options,
  ): (c: any, next: () => Promise<void>) => Promise<Response | void>;
  /** Answers one request. */
  export function upgradeWebSocket(c: any, events: SocketEvents, options?: Options): Promise<Response>;
}

declare module "sampan" {
  type Awaitable<T> = T | Promise<T>;
  /** An object that is no function: functions have all three members. */
  type NotFunction = object & { apply?: never; bind?: never; call?: never };
  /** What a handler may return; nothing answers 204. */
  export type Result = Response | NotFunction | string | number | boolean | null | undefined | void;
  /** `T`, if that answers without a handler. Functions and classes do not. */
  type Fixed<T> = T extends ((...args: any) => any) | (abstract new (...args: any) => any) ? never : T;
  /** What the function of a batch returns: it cannot wait, so it cannot be a promise. */
  type AtOnce<T> = T & (T extends PromiseLike<any> ? never : unknown);

  /** The parameters in a pattern: `{ id: string }` for `/users/:id` and `/users/:id.json`. A pattern that is not a literal has any. */
  export type Params<Pattern extends string> = string extends Pattern
    ? Record<string, string>
    : { readonly [Name in ParamName<Pattern>]: string };
  type ParamName<Pattern extends string> = Pattern extends `${infer Part}/${infer Rest}`
    ? PartName<Part> | ParamName<Rest>
    : PartName<Pattern>;
  /** A prefix with the parameter of a host, such as `:tenant.example.org`. */
  type HostPrefix<Host extends string> = Host extends `:${infer Name}` ? `/:${FrontName<Name>}` : "";
  type PartName<Part extends string> = Part extends "*"
    ? "*"
    : Part extends `*${infer Name}`
      ? Name
      : ColonName<Part>;
  type ColonName<Part extends string, Before extends string = ""> = Part extends `${infer Text}:${infer Rest}`
    ? (Last<`${Before}${Text}`> extends NameCharacter | ":" | "}" ? never : Exclude<FrontName<Rest>, "">)
      | ColonName<Rest, ":">
    : never;
  type Last<Text extends string> = Text extends `${infer First}${infer Rest}`
    ? Rest extends "" ? First : Last<Rest>
    : "";
  type FrontName<Text extends string, Name extends string = ""> = Text extends `${infer First}${infer Rest}`
    ? First extends NameCharacter
      ? FrontName<Rest, `${Name}${First}`>
      : Name
    : Name;
  type NameCharacter = "_" | Digit | Small | Uppercase<Small>;
  type Digit = "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9";
  type Small =
    | "a" | "b" | "c" | "d" | "e" | "f" | "g" | "h" | "i" | "j" | "k" | "l" | "m"
    | "n" | "o" | "p" | "q" | "r" | "s" | "t" | "u" | "v" | "w" | "x" | "y" | "z";

  /** A request: a Web `Request` with what a route adds. */
  export interface SampanRequest<Pattern extends string = string> extends Request {
    /** The path as sent, without the query. */
    readonly path: string;
    /** The parameters of the route, decoded. */
    readonly params: Params<Pattern>;
    /** The query, decoded; a key given twice is a list. */
    readonly query: Record<string, string | string[]>;
    /** The cookies. */
    readonly cookies: Record<string, string>;
    /** The client's address. */
    readonly ip: string;
@REQUEST@    /** An object of this request's own. */
    readonly state: Record<string, any>;
    /** The fields of a form; a key given twice is a list. A file of `multipart/form-data` is an `UploadedFile`. */
    form(): Promise<Record<string, FormValue>>;
    form<T>(): Promise<T>;
  }

@OPTIONS@  export type Handler<Pattern extends string = string> = (req: SampanRequest<Pattern>) => Awaitable<Result>;
  export type Next = (req?: SampanRequest<any>) => Awaitable<Response>;
  export type Middleware<Pattern extends string = string> = (
    req: SampanRequest<Pattern>,
    next: Next,
  ) => Awaitable<Result>;
  /** The third argument of `fetch` in a default export. */
  export interface FetchContext {
    /** Work that goes on after the answer. */
    waitUntil(promise: PromiseLike<unknown>): void;
    passThroughOnException(): void;
    /** The client's address. */
    readonly ip: string;
@REQUEST@    /** `req.state` of the middleware around `fetch`. */
    readonly state: Record<string, any>;
  }
  /** A status, or a status with headers; a list of values is sent line by line. */
  export type ResponseOptions = number | { status?: number; headers?: ResponseHeaders };
  export type ResponseHeaders = Headers | [string, string][] | Record<string, string | number | readonly string[]>;
  /** `stream`: the handler runs when the head is here, and reads the body as it comes. */
  export type RouteOptions = { bodyBytesMax?: number | string; compress?: boolean; etag?: boolean; name?: string; priority?: "high" | "normal"; slow?: boolean; stream?: boolean };
  /** What functions of `db` throw. The guide lists the codes. */
  export interface DatabaseError extends Error {
    readonly code: string;
    readonly table?: string;
    readonly columns?: readonly string[];
    readonly constraint?: string;
  }
  /** A row of a query: its columns by name. `db.query<User>(...)` says which. */
  export type Row = Record<string, any>;

  /**
   * What your project says about itself. With PostgreSQL the functions of `db` give promises; say so in a file of
   * your own, and TypeScript finds the calls without `await`:
   * `declare module "sampan" { interface Project { database: "postgres" } }`. `"any"` is for code that runs on both.
   */
  export interface Project {}

  /** The result of a function of `db`: itself with SQLite, a promise of it with PostgreSQL. */
  export type OnDatabase<T> = Project extends { database: "postgres" } ? Promise<T>
    : Project extends { database: "any" } ? T | Promise<T>
    : T;

  /**
   * The result of a function of `cache`: itself, or a promise of it with `[cache] shared = true` on PostgreSQL. Say so:
   * `interface Project { database: "postgres"; cache: "shared" }`.
   */
  export type OnSharedCache<T> = Project extends { cache: "shared" } ? OnDatabase<T> : T;

  /** The functions of a WebSocket's events, and what differs from `[sockets]`. */
  export interface SocketDeclaration<Pattern extends string = string> extends SocketOptions {
    /** Runs before the handshake: an answer refuses it, an object is the socket's `data`. */
    upgrade?(req: SampanRequest<Pattern>): Awaitable<Response | Record<string, any> | void | null>;
    open?(ws: WebSocket): Awaitable<void>;
    message?(ws: WebSocket, message: string | Uint8Array, isText: boolean): Awaitable<void>;
    /** What was held back has been written. */
    drain?(ws: WebSocket): Awaitable<void>;
    close?(ws: WebSocket, code: number, reason: string): Awaitable<void>;
  }

  /** What sockets may have of their own in place of `[sockets]`. */
  export interface SocketOptions {
    /** Other sites that may connect, such as `https://example.org`; `*` for all. */
    origins?: string | readonly string[];
    /** Subprotocols, the preferred first. */
    protocols?: string | readonly string[];
    messageBytesMax?: number | string;
    backpressureBytesMax?: number | string;
    onBackpressure?: "close" | "drop";
    idleMillisMax?: number;
    pingMillis?: number;
    compress?: boolean;
  }

  /** The function that feeds a stream of server-sent events. */
  export type EventFeed<Pattern extends string = string> = (
    req: SampanRequest<Pattern>,
    events: EventStream,
  ) => Awaitable<void>;
  export interface EventOptions {
    /** Compresses the stream in gzip, for clients that take it. */
    compress?: boolean;
  }

  /** The events of a socket that `upgrade` has made. */
  export interface UpgradedSocketEvents {
    open: Event;
    message: Event & { readonly data: any; readonly origin: string };
    /** The connection was lost: `close` follows. */
    error: Event;
    close: Event & { readonly code: number; readonly reason: string; readonly wasClean: boolean };
  }
  /** A socket that `upgrade` has made, with the interface of the Web's WebSocket. What a listener returns is waited for. */
  export interface UpgradedSocket {
    readonly CONNECTING: 0;
    readonly OPEN: 1;
    readonly CLOSING: 2;
    readonly CLOSED: 3;
    readonly url: string;
    readonly readyState: number;
    readonly bufferedAmount: number;
    readonly protocol: string;
    readonly extensions: string;
    /** What a message of bytes is; `blob` unless set. */
    binaryType: "blob" | "arraybuffer";
    onopen: ((event: UpgradedSocketEvents["open"]) => unknown) | null;
    onmessage: ((event: UpgradedSocketEvents["message"]) => unknown) | null;
    onerror: ((event: UpgradedSocketEvents["error"]) => unknown) | null;
    onclose: ((event: UpgradedSocketEvents["close"]) => unknown) | null;
    send(data: string | ArrayBufferLike | ArrayBufferView | Blob): void;
    close(code?: number, reason?: string): void;
    addEventListener<Type extends keyof UpgradedSocketEvents>(
      type: Type,
      listener: (event: UpgradedSocketEvents[Type]) => unknown,
      options?: { once?: boolean; signal?: AbortSignal },
    ): void;
    removeEventListener<Type extends keyof UpgradedSocketEvents>(
      type: Type,
      listener: (event: UpgradedSocketEvents[Type]) => unknown,
    ): void;
    dispatchEvent(event: Event): boolean;
  }

  interface Verb<Prefix extends string> {
    /** Declares a route. */
    <Pattern extends string>(pattern: Pattern, handler: Handler<NoInfer<`${Prefix}${Pattern}`>>): void;
    <Pattern extends string>(
      pattern: Pattern,
      options: RouteOptions,
      handler: Handler<NoInfer<`${Prefix}${Pattern}`>>,
    ): void;
    /** Declares a route with an answer instead of a handler: computed once, at start. */
    <T extends object | string | number | boolean | null>(pattern: string, value: Fixed<T>): void;
    <T extends object | string | number | boolean | null>(pattern: string, options: RouteOptions, value: Fixed<T>): void;
  }

  export interface Group<Prefix extends string = ""> {
    get: Verb<Prefix>;
    post: Verb<Prefix>;
    put: Verb<Prefix>;
    patch: Verb<Prefix>;
    delete: Verb<Prefix>;
    options: Verb<Prefix>;
    /** A route for every method. */
    all: Verb<Prefix>;
    /** Declares an address for WebSockets. */
    ws<Pattern extends string>(pattern: Pattern, declaration: SocketDeclaration<NoInfer<`${Prefix}${Pattern}`>>): void;
    /** Declares an address for server-sent events, which a function feeds. */
    sse<Pattern extends string>(pattern: Pattern, feed: EventFeed<NoInfer<`${Prefix}${Pattern}`>>): void;
    sse<Pattern extends string>(
      pattern: Pattern,
      options: EventOptions & { name?: string },
      feed: EventFeed<NoInfer<`${Prefix}${Pattern}`>>,
    ): void;
    /** Wraps every path, or those of a pattern. */
    use(middleware: Middleware | NativeMiddleware): void;
    use<Pattern extends string>(pattern: Pattern, middleware: Middleware | NativeMiddleware): void;
    /** Calls `declare` with a group whose patterns begin with `prefix`. */
    group<Inner extends string>(prefix: Inner, declare: (group: Group<`${Prefix}${Inner}`>) => void): void;
  }

  export interface App extends Group {
    /** "js". */
    readonly runtime: string;
    /** The version of Sampan. */
    readonly version: string;
    /** Which worker runs this file: `index` is 1 to `count`. */
    readonly worker: { readonly index: number; readonly count: number };
    /** Calls `declare` with a group whose routes and middleware are for requests to one host, `api.example.org`, or to the names below a domain: those of `:tenant.example.org` have one label in front of it, the parameter `tenant`; those of `*.example.org` have one or more. */
    host<Host extends string>(name: Host, declare: (group: Group<HostPrefix<Host>>) => void): void;
    /** Answers what no route answers. */
    notFound(handler: Handler): void;
    /** What names with brackets mean: `owner[name]` is the field `name` of the object `owner`, `pets[]` an item of the array `pets`. */
    nested<V>(fields: Record<string, V>): Record<string, any>;
    /** Answers when a handler failed. */
    onError(handler: (req: SampanRequest, error: any) => Awaitable<Result>): void;
    json: typeof json;
    html: typeof html;
    text: typeof text;
    redirect: typeof redirect;
    first: typeof first;
    stream: typeof stream;
@PROPERTIES@  }

  export const app: App;
  export default app;

  export function html(body: string, options?: ResponseOptions): Response;
  export function text(body: string | Uint8Array, options?: ResponseOptions): Response;
  /** The first value under a name of `req.query` or a form, where a name given twice has an array. */
  export function first(value: FormValue | undefined): string | UploadedFile | undefined;
  export function first<T>(value: T | readonly T[] | undefined): T | undefined;
  /** 302 unless a status is given. */
  export function redirect(location: string, status?: number): Response;
  /** A stream of server-sent events that a function feeds. */
  export function sse(
    feed: (events: EventStream) => Awaitable<void>,
    options?: EventOptions & { headers?: Record<string, string> },
  ): Response;
  /** A body that is produced while it is sent. */
  export function stream(
    produce: (write: (chunk: string | Uint8Array) => Promise<void>) => Awaitable<void>,
    options?: ResponseOptions,
  ): Response;
  /** Makes a socket of a request for one: return the response. `protocol` is a subprotocol, or a list of them. */
  export function upgrade(
    req: Request,
    options?: Omit<SocketOptions, "protocols"> & { protocol?: string | readonly string[] },
  ): { socket: UpgradedSocket; response: Response };
  /** A JSON answer. */
  export function json(body: unknown, options?: ResponseOptions): Response;

