// What `import ... from "sampan"` gives. Made by `cargo xtask codegen`; do not edit.

declare module "sampan" {
  type Awaitable<T> = T | Promise<T>;
  type Result = Response | object | string | number | boolean | null | undefined | void;

  /** A request: a Web `Request` with what a route adds. */
  interface SampanRequest extends Request {
    /** The path as sent, without the query. */
    readonly path: string;
    /** The parameters of the route, decoded. */
    readonly params: Record<string, string>;
    /** The query, decoded; a key given twice is a list. */
    readonly query: Record<string, string | string[]>;
    /** The cookies. */
    readonly cookies: Record<string, string>;
    /** The client's address. */
    readonly ip: string;
    /** An object of this request's own. */
    readonly state: Record<string, any>;
    /** The body as `application/x-www-form-urlencoded`; a key given twice is a list. */
    form(): Promise<Record<string, string | string[]>>;
    bytes(): Promise<Uint8Array>;
  }

  type Handler = (req: SampanRequest) => Awaitable<Result>;
  type Next = (req?: SampanRequest) => Awaitable<Response>;
  type Middleware = (req: SampanRequest, next: Next) => Awaitable<Result>;
  /** A status, or a status with headers; a list of values is sent line by line. */
  type ResponseOptions = number | { status?: number; headers?: Record<string, string | string[]> };
  type RouteOptions = { bodyBytesMax?: number };

  interface Verb {
    /** Declares a route. A handler that is not a function is an answer, computed once at start. */
    (pattern: string, handler: Handler | Exclude<Result, void>): void;
    (pattern: string, options: RouteOptions, handler: Handler | Exclude<Result, void>): void;
  }

  interface Group {
    get: Verb;
    post: Verb;
    put: Verb;
    patch: Verb;
    delete: Verb;
    options: Verb;
    /** A route for every method. */
    all: Verb;
    /** Wraps every path, or those of a pattern. */
    use(middleware: Middleware): void;
    use(pattern: string, middleware: Middleware): void;
    /** Calls `declare` with a group whose patterns begin with `prefix`. */
    group(prefix: string, declare: (group: Group) => void): void;
  }

  interface App extends Group {
    /** "js". */
    readonly runtime: string;
    /** The version of Sampan. */
    readonly version: string;
    /** Answers what no route answers. */
    notFound(handler: Handler): void;
    /** Answers when a handler failed. */
    onError(handler: (req: SampanRequest, error: any) => Awaitable<Result>): void;
    json: typeof json;
    html: typeof html;
    text: typeof text;
    redirect: typeof redirect;
    stream: typeof stream;
    time: typeof time;
    log: typeof log;
    env: typeof env;
    db: typeof db;
  }

  export const app: App;
  export default app;

  export function html(body: string, options?: ResponseOptions): Response;
  export function text(body: string | Uint8Array, options?: ResponseOptions): Response;
  /** 302 unless a status is given. */
  export function redirect(location: string, status?: number): Response;
  /** A body that is produced while it is sent. */
  export function stream(
    produce: (write: (chunk: string | Uint8Array) => Promise<void>) => Awaitable<void>,
    options?: ResponseOptions,
  ): Response;
  /** A JSON answer. */
  export function json(body: unknown, options?: ResponseOptions): Response;

  /** The clock, and waiting. */
  export namespace time {
    /** The time in seconds since 1970-01-01 00:00 UTC, with fractions of a second. */
    function now(): number;
    /** The time in whole milliseconds since 1970-01-01 00:00 UTC. */
    function nowMs(): number;
    /** Waits without blocking other requests. A negative, too long or NaN duration is an error. */
    function sleep(seconds: number): Promise<void>;
  }

  /** Lines on standard error: time, level, message, fields. */
  export namespace log {
    /** Writes a line of level DEBUG; left out unless `level = "debug"` is set under `[log]`. */
    function debug(message?: any, fields?: any): void;
    /** Writes a line of level INFO. */
    function info(message?: any, fields?: any): void;
    /** Writes a line of level WARN. */
    function warn(message?: any, fields?: any): void;
    /** Writes a line of level ERROR. */
    function error(message?: any, fields?: any): void;
  }

  /** Environment variables. */
  export namespace env {
    /** The value of an environment variable, or nothing if it is not set. Bytes that are not UTF-8 are replaced. */
    function get(name: string): string;
  }

  /** JSON text from values and values from JSON text. */
  export namespace json {
    /** The JSON text of a value. NaN, infinity, bytes that are not UTF-8, cycles and nesting beyond `json_depth_max` are errors. */
    function encode(value?: any): string;
    /** The value of a JSON text. Text that is not JSON is an error that names the line and column. */
    function decode(text: string | Uint8Array | ArrayBuffer): any;
  }

  /** SQLite. All writes of the requests that run together are committed together, and no answer leaves before its commit. */
  export namespace db {
    /** The rows of a statement; of an INSERT, UPDATE or DELETE what its RETURNING says. Inside a request it sees what the request wrote. Runs in place up to `query_inline_millis_max`; beyond that Lua waits for a reader thread, and in JavaScript `queryAsync` does. */
    function query(sql: string, params?: any): any[];
    /** The first row of a statement, or nothing. */
    function one(sql: string, params?: any): any;
    /** Runs a statement. `changes` is the number of rows that it changed, `last_id` the rowid of the last row that was inserted. */
    function exec(sql: string, params?: any): Record<string, any>;
    /** Calls the function in a transaction: all that it writes is kept, or, if it throws, nothing, and the error is passed on. Batches nest. Nothing inside may wait. */
    function batch<T>(fn: (value: any) => T): T;
    /** The rows of a long read, on a reader thread, without blocking the worker, after what this request wrote was committed. At most `statement_millis_max`. */
    function queryAsync(sql: string, params?: any): Promise<any[]>;
    /** The first row of a long read, or nothing; see `query_async`. */
    function oneAsync(sql: string, params?: any): Promise<any>;
    /** A statement as a template: db.sql`SELECT * FROM t WHERE id = ${id}`. The values are bound, never pasted. */
    function sql(strings: TemplateStringsArray, ...values: unknown[]): any[];
  }
}
