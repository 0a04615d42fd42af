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
@PROPERTIES@  }

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

