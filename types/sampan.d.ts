// What `import ... from "sampan"` gives. Made by `cargo xtask codegen`; do not edit.

// The classes and functions of the Web that Sampan has. They need no library "dom"; where that is there, its own declarations count.
declare namespace SampanWeb {
  type Unless<T> = typeof globalThis extends { onmessage: any } ? {} : T;
  type Source = ArrayBuffer | ArrayBufferView;
  type HeadersInit = globalThis.Headers | [string, string][] | Record<string, string>;
  type BodyInit =
    | globalThis.ReadableStream
    | globalThis.Blob
    | globalThis.FormData
    | globalThis.URLSearchParams
    | Source
    | string;
  interface Headers {
    append(name: string, value: string): void;
    delete(name: string): void;
    get(name: string): string | null;
    getSetCookie(): string[];
    has(name: string): boolean;
    set(name: string, value: string): void;
    forEach(fn: (value: string, name: string, headers: globalThis.Headers) => void, thisArg?: any): void;
    entries(): IterableIterator<[string, string]>;
    keys(): IterableIterator<string>;
    values(): IterableIterator<string>;
    [Symbol.iterator](): IterableIterator<[string, string]>;
  }
  interface Body {
    readonly body: globalThis.ReadableStream<Uint8Array<ArrayBuffer>> | null;
    readonly bodyUsed: boolean;
    arrayBuffer(): Promise<ArrayBuffer>;
    blob(): Promise<globalThis.Blob>;
    bytes(): Promise<Uint8Array<ArrayBuffer>>;
    formData(): Promise<globalThis.FormData>;
    json(): Promise<any>;
    text(): Promise<string>;
  }
  interface RequestInit {
    method?: string;
    headers?: HeadersInit;
    body?: BodyInit | null;
    signal?: globalThis.AbortSignal | null;
    redirect?: "follow" | "manual" | "error";
    duplex?: "half";
  }
  /** Seconds, or a text such as `"500ms"`. */
  type Seconds = number | string;
  interface FetchInit extends RequestInit {
    /** What the standard has no option for. */
    sampan?: {
      connect?: Seconds;
      head?: Seconds;
      total?: Seconds;
      idle?: Seconds;
      /** The largest body of an answer. */
      bodyBytesMax?: number | string;
      decompress?: boolean;
    };
  }
  interface Request extends Body {
    readonly headers: globalThis.Headers;
    readonly method: string;
    readonly signal: globalThis.AbortSignal;
    readonly url: string;
    clone(): globalThis.Request;
  }
  interface ResponseInit {
    status?: number;
    statusText?: string;
    headers?: HeadersInit;
  }
  interface Response extends Body {
    readonly headers: globalThis.Headers;
    readonly ok: boolean;
    readonly status: number;
    readonly statusText: string;
    readonly redirected: boolean;
    readonly type: string;
    readonly url: string;
    clone(): globalThis.Response;
  }
  interface Blob {
    readonly size: number;
    readonly type: string;
    arrayBuffer(): Promise<ArrayBuffer>;
    bytes(): Promise<Uint8Array<ArrayBuffer>>;
    slice(start?: number, end?: number, type?: string): globalThis.Blob;
    stream(): globalThis.ReadableStream<Uint8Array<ArrayBuffer>>;
    text(): Promise<string>;
  }
  interface File {
    readonly lastModified: number;
    readonly name: string;
  }
  type Entry = globalThis.File | string;
  interface FormData {
    append(name: string, value: string | globalThis.Blob, fileName?: string): void;
    delete(name: string): void;
    get(name: string): Entry | null;
    getAll(name: string): Entry[];
    has(name: string): boolean;
    set(name: string, value: string | globalThis.Blob, fileName?: string): void;
    forEach(fn: (value: Entry, name: string, form: globalThis.FormData) => void, thisArg?: any): void;
    entries(): IterableIterator<[string, Entry]>;
    keys(): IterableIterator<string>;
    values(): IterableIterator<Entry>;
    [Symbol.iterator](): IterableIterator<[string, Entry]>;
  }
  interface URLSearchParams {
    readonly size: number;
    append(name: string, value: string): void;
    delete(name: string, value?: string): void;
    get(name: string): string | null;
    getAll(name: string): string[];
    has(name: string, value?: string): boolean;
    set(name: string, value: string): void;
    sort(): void;
    toString(): string;
    forEach(fn: (value: string, name: string, params: globalThis.URLSearchParams) => void, thisArg?: any): void;
    entries(): IterableIterator<[string, string]>;
    keys(): IterableIterator<string>;
    values(): IterableIterator<string>;
    [Symbol.iterator](): IterableIterator<[string, string]>;
  }
  interface URL {
    hash: string;
    host: string;
    hostname: string;
    href: string;
    readonly origin: string;
    password: string;
    pathname: string;
    port: string;
    protocol: string;
    search: string;
    readonly searchParams: globalThis.URLSearchParams;
    username: string;
    toJSON(): string;
    toString(): string;
  }
  interface Reader<R> {
    readonly closed: Promise<undefined>;
    cancel(reason?: any): Promise<void>;
    read(): Promise<{ done: false; value: R } | { done: true; value: R | undefined }>;
    releaseLock(): void;
  }
  interface ReadableController<R> {
    readonly desiredSize: number | null;
    close(): void;
    enqueue(chunk?: R): void;
    error(reason?: any): void;
  }
  interface ReadableSource<R> {
    start?(controller: ReadableController<R>): any;
    pull?(controller: ReadableController<R>): void | PromiseLike<void>;
    cancel?(reason?: any): void | PromiseLike<void>;
  }
  interface ReadableStream<R> {
    readonly locked: boolean;
    cancel(reason?: any): Promise<void>;
    getReader(): Reader<R>;
    pipeThrough<T>(pair: { readable: globalThis.ReadableStream<T>; writable: globalThis.WritableStream<R> }): globalThis.ReadableStream<T>;
    pipeTo(to: globalThis.WritableStream<R>): Promise<void>;
    tee(): [globalThis.ReadableStream<R>, globalThis.ReadableStream<R>];
    [Symbol.asyncIterator](): AsyncIterableIterator<R>;
  }
  interface Writer<W> {
    readonly closed: Promise<undefined>;
    readonly desiredSize: number | null;
    readonly ready: Promise<undefined>;
    abort(reason?: any): Promise<void>;
    close(): Promise<void>;
    releaseLock(): void;
    write(chunk?: W): Promise<void>;
  }
  interface WritableSink<W> {
    start?(controller: { error(reason?: any): void }): any;
    write?(chunk: W): void | PromiseLike<void>;
    close?(): void | PromiseLike<void>;
    abort?(reason?: any): void | PromiseLike<void>;
  }
  interface WritableStream<W> {
    readonly locked: boolean;
    abort(reason?: any): Promise<void>;
    close(): Promise<void>;
    getWriter(): Writer<W>;
  }
  interface TransformController<O> {
    readonly desiredSize: number | null;
    enqueue(chunk?: O): void;
    error(reason?: any): void;
    terminate(): void;
  }
  interface Transformer<I, O> {
    start?(controller: TransformController<O>): any;
    transform?(chunk: I, controller: TransformController<O>): void | PromiseLike<void>;
    flush?(controller: TransformController<O>): void | PromiseLike<void>;
  }
  interface TransformStream<I, O> {
    readonly readable: globalThis.ReadableStream<O>;
    readonly writable: globalThis.WritableStream<I>;
  }
  interface TextEncoder {
    readonly encoding: string;
    encode(text?: string): Uint8Array<ArrayBuffer>;
  }
  interface TextDecoder {
    readonly encoding: string;
    decode(bytes?: Source, options?: { stream?: boolean }): string;
  }
  interface Event {
    readonly defaultPrevented: boolean;
    readonly type: string;
    preventDefault(): void;
  }
  interface EventTarget {
    addEventListener(type: string, listener: ((event: any) => void) | null, options?: boolean | { once?: boolean }): void;
    dispatchEvent(event: globalThis.Event): boolean;
    removeEventListener(type: string, listener: ((event: any) => void) | null): void;
  }
  interface AbortSignal {
    readonly aborted: boolean;
    readonly reason: any;
    throwIfAborted(): void;
  }
  interface AbortController {
    readonly signal: globalThis.AbortSignal;
    abort(reason?: any): void;
  }
  interface SubtleCrypto {
    digest(algorithm: string | { name: string }, data: Source): Promise<ArrayBuffer>;
    importKey(format: "raw" | "jwk", key: any, algorithm: any, extractable: boolean, uses: readonly string[]): Promise<any>;
    sign(algorithm: any, key: any, data: Source): Promise<ArrayBuffer>;
    verify(algorithm: any, key: any, signature: Source, data: Source): Promise<boolean>;
  }
  interface Crypto {
    readonly subtle: globalThis.SubtleCrypto;
    getRandomValues<T extends ArrayBufferView>(into: T): T;
    randomUUID(): `${string}-${string}-${string}-${string}-${string}`;
  }
  interface Console {
    debug(...values: any[]): void;
    error(...values: any[]): void;
    info(...values: any[]): void;
    log(...values: any[]): void;
    warn(...values: any[]): void;
  }
  interface Performance {
    now(): number;
  }
}

interface Headers extends SampanWeb.Unless<SampanWeb.Headers> {}
interface Request extends SampanWeb.Unless<SampanWeb.Request> {}
interface Response extends SampanWeb.Unless<SampanWeb.Response> {}
interface Blob extends SampanWeb.Unless<SampanWeb.Blob> {}
interface File extends Blob, SampanWeb.Unless<SampanWeb.File> {}
interface FormData extends SampanWeb.Unless<SampanWeb.FormData> {}
interface URLSearchParams extends SampanWeb.Unless<SampanWeb.URLSearchParams> {}
interface URL extends SampanWeb.Unless<SampanWeb.URL> {}
interface ReadableStream<R = any> extends SampanWeb.Unless<SampanWeb.ReadableStream<R>> {}
interface WritableStream<W = any> extends SampanWeb.Unless<SampanWeb.WritableStream<W>> {}
interface TransformStream<I = any, O = any> extends SampanWeb.Unless<SampanWeb.TransformStream<I, O>> {}
interface TextEncoder extends SampanWeb.Unless<SampanWeb.TextEncoder> {}
interface TextDecoder extends SampanWeb.Unless<SampanWeb.TextDecoder> {}
interface Event extends SampanWeb.Unless<SampanWeb.Event> {}
interface EventTarget extends SampanWeb.Unless<SampanWeb.EventTarget> {}
interface AbortSignal extends EventTarget, SampanWeb.Unless<SampanWeb.AbortSignal> {}
interface AbortController extends SampanWeb.Unless<SampanWeb.AbortController> {}
interface SubtleCrypto extends SampanWeb.Unless<SampanWeb.SubtleCrypto> {}
interface Crypto extends SampanWeb.Unless<SampanWeb.Crypto> {}
interface Console extends SampanWeb.Unless<SampanWeb.Console> {}
interface Performance extends SampanWeb.Unless<SampanWeb.Performance> {}

declare var Headers: typeof globalThis extends { onmessage: any; Headers: infer T } ? T : { new (init?: SampanWeb.HeadersInit): Headers; prototype: Headers };
declare var Request: typeof globalThis extends { onmessage: any; Request: infer T }
  ? T
  : { new (input: string | URL | Request, init?: SampanWeb.RequestInit): Request; prototype: Request };
declare var Response: typeof globalThis extends { onmessage: any; Response: infer T }
  ? T
  : {
      new (body?: SampanWeb.BodyInit | null, init?: SampanWeb.ResponseInit): Response;
      error(): Response;
      json(value: any, init?: SampanWeb.ResponseInit): Response;
      redirect(url: string | URL, status?: number): Response;
      prototype: Response;
    };
declare var Blob: typeof globalThis extends { onmessage: any; Blob: infer T }
  ? T
  : { new (parts?: (SampanWeb.Source | Blob | string)[], options?: { type?: string }): Blob; prototype: Blob };
declare var File: typeof globalThis extends { onmessage: any; File: infer T }
  ? T
  : {
      new (parts: (SampanWeb.Source | Blob | string)[], name: string, options?: { type?: string; lastModified?: number }): File;
      prototype: File;
    };
declare var FormData: typeof globalThis extends { onmessage: any; FormData: infer T } ? T : { new (): FormData; prototype: FormData };
declare var URLSearchParams: typeof globalThis extends { onmessage: any; URLSearchParams: infer T }
  ? T
  : { new (init?: string | string[][] | Record<string, string> | URLSearchParams): URLSearchParams; prototype: URLSearchParams };
declare var URL: typeof globalThis extends { onmessage: any; URL: infer T }
  ? T
  : { new (url: string | URL, base?: string | URL): URL; canParse(url: string | URL, base?: string | URL): boolean; prototype: URL };
declare var ReadableStream: typeof globalThis extends { onmessage: any; ReadableStream: infer T }
  ? T
  : { new <R = any>(source?: SampanWeb.ReadableSource<R>): ReadableStream<R>; prototype: ReadableStream };
declare var WritableStream: typeof globalThis extends { onmessage: any; WritableStream: infer T }
  ? T
  : { new <W = any>(sink?: SampanWeb.WritableSink<W>): WritableStream<W>; prototype: WritableStream };
declare var TransformStream: typeof globalThis extends { onmessage: any; TransformStream: infer T }
  ? T
  : { new <I = any, O = any>(transformer?: SampanWeb.Transformer<I, O>): TransformStream<I, O>; prototype: TransformStream };
declare var TextEncoder: typeof globalThis extends { onmessage: any; TextEncoder: infer T } ? T : { new (): TextEncoder; prototype: TextEncoder };
declare var TextDecoder: typeof globalThis extends { onmessage: any; TextDecoder: infer T }
  ? T
  : { new (label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean }): TextDecoder; prototype: TextDecoder };
declare var Event: typeof globalThis extends { onmessage: any; Event: infer T }
  ? T
  : { new (type: string, options?: { cancelable?: boolean }): Event; prototype: Event };
declare var EventTarget: typeof globalThis extends { onmessage: any; EventTarget: infer T } ? T : { new (): EventTarget; prototype: EventTarget };
declare var AbortController: typeof globalThis extends { onmessage: any; AbortController: infer T }
  ? T
  : { new (): AbortController; prototype: AbortController };
declare var AbortSignal: typeof globalThis extends { onmessage: any; AbortSignal: infer T }
  ? T
  : { abort(reason?: any): AbortSignal; any(signals: AbortSignal[]): AbortSignal; timeout(millis: number): AbortSignal; prototype: AbortSignal };
declare var crypto: Crypto;
declare var console: Console;
declare var performance: Performance;
declare function atob(text: string): string;
declare function btoa(text: string): string;
declare function clearInterval(timer: number | undefined): void;
declare function clearTimeout(timer: number | undefined): void;
/** Sends a request to another server. */
declare function fetch(input: string | URL | Request, init?: SampanWeb.FetchInit): Promise<Response>;
declare function queueMicrotask(fn: () => void): void;
declare function setInterval(fn: (...args: any[]) => void, millis?: number, ...args: any[]): number;
declare function setTimeout(fn: (...args: any[]) => void, millis?: number, ...args: any[]): number;
declare function structuredClone<T>(value: T, options?: { transfer?: any[] }): T;

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
    /** The TLS of the connection: nothing on a plain one, also where a proxy in front has it. `version` is `TLSv1.3` or `TLSv1.2`, `cipher` the name of the cipher suite, `sni` the host name that the client asked for. `subject`, such as `CN=alice,O=Example`, and `fingerprint`, the SHA-256 digest in hexadecimal, are those of the client's certificate. */
    readonly tls: { version: string; cipher: string; sni: string | null; subject: string | null; fingerprint: string | null } | null;
    /** The id of the request: `x-request-id`, or one of the server's. It stands on every line of the log that the request causes. */
    readonly id: string;
    /** Who was let in by `app.basicAuth` or `app.bearerAuth`: what `verify` returned, or a name. */
    readonly auth: any;
    /** The nonce in the `Content-Security-Policy` of this request, for the attribute `nonce` of its scripts and styles. Nothing where no `csp` of `app.secureHeaders` has `{nonce}`. */
    readonly cspNonce: string | null;
    /** What the app remembers of this browser. */
    readonly session: Session;
    /** The locale of the request: by `?lang=`, which a cookie remembers; by that cookie; by `Accept-Language`; else the app's own. One of the app's locales can be assigned, for the rest of the request. */
    locale: string;
    /** In which direction that locale is written, for the attribute `dir`: `ltr` or `rtl`. */
    readonly textDirection: string;
    /** Tells the browser what the page will need, while the handler still waits for the database or for another server: an answer 103 with these `Link` fields leaves at the next wait, once nothing is left to be committed. The answer itself does not get them. A client of HTTP/1.0 gets no hints. Those of a request have at most 64 KiB together. */
    earlyHints(links: any[]): void;
    /** As `app.render`, with what belongs to the request in reach of the template: `request`, `session` and `flashes`. */
    render(name: string, data?: any, options?: ResponseOptions): Response;
    /** The answer sets a cookie, for every result of the handler. Name and value have at most 4096 bytes. What browsers would ignore is an error. */
    setCookie(name: string, value: string, options?: Record<string, any>): void;
    /** The answer deletes a cookie of the browser. */
    deleteCookie(name: string, options?: Record<string, any>): void;
    /** The value of a cookie that was set with `signed`. Nothing if there is none, if it was changed, or if its `max_age` has passed. */
    signedCookie(name: string): string | null;
    /** The same for a cookie that was set with `encrypted`. */
    encryptedCookie(name: string): string | null;
    /** Checks that another service signed this request, over its body as it was sent. For one that does not count it is an error that answers 401, with a `code`: `webhook_header`, `webhook_timestamp`, `webhook_signature`. */
    verifyWebhook(scheme: string, secrets: any, options?: Record<string, any>): void;
    /** Leaves a message for the next page of this browser, in its session. */
    flash(kind: string, message: any): void;
    /** The messages that earlier requests left, each with `kind` and `message`. No later request gets them. */
    flashes(): any[];
    /** The text of a key in the locale of the request. Where that has none, it is the text of a more general locale or of the app's own, else the key. Values are not escaped: templates do that. */
    t(key: string, values?: Record<string, any>): string;
    /** A number as the locale of the request writes it: `1.234,5`. */
    formatNumber(number: number, options?: Record<string, any>): string;
    /** A date as the locale of the request writes it, by the Gregorian calendar. */
    formatDate(date: any, options?: Record<string, any>): string;
    /** The same as `app.validate`, with messages in the language of the request. */
    validate<const S extends Schema>(data: unknown, schema: S & CheckedSchema<S>): Validated<S>;
    /** Calls the function with each record of the body. On a route with `stream` they are read as they come. Returns how many there were. A body that is no CSV is an error that answers 400, a form one that answers 415. */
    csvRecords(fn: (...args: any[]) => any, options?: Record<string, any>): Promise<number>;
    /** The answer is saved as a file of this name. Text and streams get the type `text/csv`, unless they have one. */
    csvDownload(name: string): void;
    /** An object of this request's own. */
    readonly state: Record<string, any>;
    /** The fields of a form; a key given twice is a list. A file of `multipart/form-data` is an `UploadedFile`. */
    form(): Promise<Record<string, FormValue>>;
    form<T>(): Promise<T>;
  }

  /** The options of `app.cors`. */
  export interface CorsOptions {
    origins: "*" | readonly string[];
    methods?: readonly string[];
    headers?: readonly string[];
    expose?: readonly string[];
    credentials?: boolean;
    maxAge?: number;
  }
  /** The options of `app.idempotency`. */
  export interface IdempotencyOptions {
    /** Says who asks: text or a whole number. */
    user: (req: SampanRequest) => unknown;
    hours?: number;
    /** True: POST, PATCH, PUT and DELETE need a key. */
    required?: boolean;
  }
  /** The options of `app.cached`. */
  export interface CachedOptions {
    seconds: number;
    /** The parameters of the query that count, all unless given. */
    query?: readonly string[];
    /** The header fields of requests that answers depend on. */
    vary?: readonly string[];
    /** The names of cookies that no answer depends on. */
    ignoreCookies?: readonly string[];
  }
  /** The options of `app.allowIps`. */
  export interface AllowIpsOptions {
    /** Networks such as `10.0.0.0/8`, addresses, or `unix:`. */
    networks: string | readonly string[];
  }
  /** The options of `app.rateLimit`: `limit` requests in `per` seconds. */
  export interface RateLimitOptions {
    limit: number;
    per: number;
    /** `ip`, the name of a header field, or a function of the request. */
    key?: string | ((req: SampanRequest) => unknown);
    name?: string;
    /** True: all processes on one PostgreSQL server count together. */
    shared?: boolean;
  }
  /** The options of `app.basicAuth`: `verify` or `users`. */
  export type BasicAuthOptions = { realm?: string } & (
    | { verify: (user: string, password: string, req: SampanRequest) => unknown; users?: never }
    | { users: Readonly<Record<string, string>>; verify?: never }
  );
  /** The options of `app.bearerAuth`: `verify` or `tokens`. */
  export type BearerAuthOptions = { realm?: string } & (
    | { verify: (token: string, req: SampanRequest) => unknown; tokens?: never }
    | { tokens: Readonly<Record<string, string | null>>; verify?: never }
  );
  /** The options of `app.secureHeaders`. */
  export interface SecureHeadersOptions {
    csp?: string;
    frameAncestors?: string | readonly string[] | false;
    referrerPolicy?: string | false;
    hsts?: number | false;
  }
  /** A time: a text such as `"30 s"` or `"5 m"`, or a number of seconds. */
  export type Duration = string | number;
  /** The options of `app.job`. */
  export interface JobOptions {
    attempts?: number;
    timeout?: Duration;
    backoff?: Duration;
    queue?: string;
    unique?: boolean;
  }
  /** The options of `app.cron`. */
  export interface CronOptions {
    tz?: string;
    missed?: "once" | "skip";
    attempts?: number;
    timeout?: Duration;
    backoff?: Duration;
    queue?: string;
  }
  /** The first argument of the function of a cron: the time that it was to run, in seconds since 1970. */
  export interface CronRun {
    readonly due: number;
  }
  /** The options of `crypto.hkdf`. */
  export interface HkdfOptions {
    salt?: string | Uint8Array | ArrayBuffer | null;
    info?: string | Uint8Array | ArrayBuffer | null;
    /** The number of bytes, 32 unless given. */
    length?: number | null;
  }
  /** The options of `crypto.pbkdf2`. */
  export interface Pbkdf2Options {
    salt: string | Uint8Array | ArrayBuffer;
    iterations: number;
    /** The number of bytes, 32 unless given. */
    length?: number | null;
  }
  /** The names in the URI of `crypto.totpUri`, and the secret. */
  export interface TotpNames {
    secret: string;
    account: string;
    issuer: string;
  }
  /** The options of `crypto.totpVerify`. */
  export interface TotpOptions {
    /** The last result: codes that are not newer do not count. */
    after?: number | null;
    window?: number | null;
    /** Seconds since 1970, now unless given. */
    time?: number | null;
  }
  /** The options of `crypto.jwtSign`. */
  export interface JwtSignOptions {
    /** Seconds. */
    expiresIn?: number;
  }
  /** The options of `crypto.jwtVerify`. */
  export interface JwtVerifyOptions {
    algorithms?: string | readonly string[];
    audience?: string | readonly string[];
    issuer?: string | readonly string[];
    /** Seconds. */
    leeway?: number;
  }
  /** A match of a pattern of `regex`. A group that took no part is null. */
  export interface RegexMatch {
    text: string;
    groups: (string | null)[];
    named: Record<string, string | null>;
  }

  /** A field of a form: text, a list of texts where its name came twice, or a file. `value?.save` tells files. */
  export type FormValue = (string & { readonly save?: undefined }) | (string[] & { readonly save?: undefined }) | UploadedFile;

  export type FieldType = "string" | "integer" | "number" | "boolean" | "date" | "datetime" | "email" | "url" | "list" | "object" | "any";
  /** What a field of a schema must be. */
  export interface FieldOptions {
    readonly type?: string;
    readonly required?: boolean;
    readonly trim?: boolean;
    readonly min?: number | string;
    readonly max?: number | string;
    readonly length?: number;
    readonly tz?: string;
    readonly pattern?: string;
    readonly enum?: readonly unknown[];
    readonly items?: string | FieldOptions;
    readonly fields?: Schema;
    readonly default?: unknown;
    readonly check?: (value: any, all: any) => unknown;
    readonly message?: string;
  }
  /** The fields of a form or of JSON by their names: the name of a type each, or options. */
  export interface Schema {
    readonly [name: string]: string | FieldOptions;
  }
  type OfType<T> = string extends T
    ? any
    : T extends "integer" | "number"
      ? number
      : T extends "boolean"
        ? boolean
        : T extends "list"
          ? any[]
          : T extends "object"
            ? Record<string, any>
            : T extends "any"
              ? any
              : string;
  type ValueOf<F> = F extends string
    ? OfType<F>
    : F extends { readonly enum: readonly (infer E)[] }
      ? E
      : F extends { readonly fields: infer S extends Schema }
        ? Valid<S>
        : F extends { readonly items: infer I }
          ? ValueOf<I>[]
          : F extends { readonly type: infer T }
            ? OfType<T>
            : string;
  type IsThere<F> = F extends { readonly required: true } ? true : F extends { readonly default: {} } ? true : false;
  type Flat<T> = { [N in keyof T]: T[N] };
  /** The values that a schema gives. A field that is neither required nor has a default may be missing. */
  export type Valid<S extends Schema> = string extends keyof S
    ? Record<string, any>
    : Flat<
        { -readonly [N in keyof S as IsThere<S[N]> extends true ? N : never]: ValueOf<S[N]> } & {
          -readonly [N in keyof S as IsThere<S[N]> extends true ? never : N]?: ValueOf<S[N]>;
        }
      >;
  export type Validated<S extends Schema> = { data: Valid<S>; errors: null } | { data: null; errors: Record<string, string> };
  /** The same schema, if its types and options exist. */
  type CheckedField<F> = F extends string
    ? string extends F ? F : F extends FieldType ? F : FieldType
    : Exclude<keyof F, keyof FieldOptions> extends never
      ? F extends { readonly type: infer T extends string }
        ? string extends T ? F : T extends FieldType ? F : { readonly type: FieldType }
        : F
      : { readonly [N in Exclude<keyof F, keyof FieldOptions>]: never };
  type CheckedSchema<S> = { readonly [N in keyof S]: CheckedField<S[N]> };

  export type Handler<Pattern extends string = string> = (req: SampanRequest<Pattern>) => Awaitable<Result>;
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
    /** The TLS of the connection: nothing on a plain one, also where a proxy in front has it. `version` is `TLSv1.3` or `TLSv1.2`, `cipher` the name of the cipher suite, `sni` the host name that the client asked for. `subject`, such as `CN=alice,O=Example`, and `fingerprint`, the SHA-256 digest in hexadecimal, are those of the client's certificate. */
    readonly tls: { version: string; cipher: string; sni: string | null; subject: string | null; fingerprint: string | null } | null;
    /** The id of the request: `x-request-id`, or one of the server's. It stands on every line of the log that the request causes. */
    readonly id: string;
    /** Who was let in by `app.basicAuth` or `app.bearerAuth`: what `verify` returned, or a name. */
    readonly auth: any;
    /** The nonce in the `Content-Security-Policy` of this request, for the attribute `nonce` of its scripts and styles. Nothing where no `csp` of `app.secureHeaders` has `{nonce}`. */
    readonly cspNonce: string | null;
    /** What the app remembers of this browser. */
    readonly session: Session;
    /** The locale of the request: by `?lang=`, which a cookie remembers; by that cookie; by `Accept-Language`; else the app's own. One of the app's locales can be assigned, for the rest of the request. */
    locale: string;
    /** In which direction that locale is written, for the attribute `dir`: `ltr` or `rtl`. */
    readonly textDirection: string;
    /** Tells the browser what the page will need, while the handler still waits for the database or for another server: an answer 103 with these `Link` fields leaves at the next wait, once nothing is left to be committed. The answer itself does not get them. A client of HTTP/1.0 gets no hints. Those of a request have at most 64 KiB together. */
    earlyHints(links: any[]): void;
    /** As `app.render`, with what belongs to the request in reach of the template: `request`, `session` and `flashes`. */
    render(name: string, data?: any, options?: ResponseOptions): Response;
    /** The answer sets a cookie, for every result of the handler. Name and value have at most 4096 bytes. What browsers would ignore is an error. */
    setCookie(name: string, value: string, options?: Record<string, any>): void;
    /** The answer deletes a cookie of the browser. */
    deleteCookie(name: string, options?: Record<string, any>): void;
    /** The value of a cookie that was set with `signed`. Nothing if there is none, if it was changed, or if its `max_age` has passed. */
    signedCookie(name: string): string | null;
    /** The same for a cookie that was set with `encrypted`. */
    encryptedCookie(name: string): string | null;
    /** Checks that another service signed this request, over its body as it was sent. For one that does not count it is an error that answers 401, with a `code`: `webhook_header`, `webhook_timestamp`, `webhook_signature`. */
    verifyWebhook(scheme: string, secrets: any, options?: Record<string, any>): void;
    /** Leaves a message for the next page of this browser, in its session. */
    flash(kind: string, message: any): void;
    /** The messages that earlier requests left, each with `kind` and `message`. No later request gets them. */
    flashes(): any[];
    /** The text of a key in the locale of the request. Where that has none, it is the text of a more general locale or of the app's own, else the key. Values are not escaped: templates do that. */
    t(key: string, values?: Record<string, any>): string;
    /** A number as the locale of the request writes it: `1.234,5`. */
    formatNumber(number: number, options?: Record<string, any>): string;
    /** A date as the locale of the request writes it, by the Gregorian calendar. */
    formatDate(date: any, options?: Record<string, any>): string;
    /** The same as `app.validate`, with messages in the language of the request. */
    validate<const S extends Schema>(data: unknown, schema: S & CheckedSchema<S>): Validated<S>;
    /** Calls the function with each record of the body. On a route with `stream` they are read as they come. Returns how many there were. A body that is no CSV is an error that answers 400, a form one that answers 415. */
    csvRecords(fn: (...args: any[]) => any, options?: Record<string, any>): Promise<number>;
    /** The answer is saved as a file of this name. Text and streams get the type `text/csv`, unless they have one. */
    csvDownload(name: string): void;
    /** `req.state` of the middleware around `fetch`. */
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
    log: typeof log;
    db: typeof db;
    template: typeof template;
    crypto: typeof crypto;
    files: typeof files;
    session: typeof session;
    i18n: typeof i18n;
    time: typeof time;
    env: typeof env;
    csv: typeof csv;
    regex: typeof regex;
    codec: typeof codec;
    password: typeof password;
    cache: typeof cache;
    metrics: typeof metrics;
    mail: typeof mail;
    t: typeof t;
    /** Runs the function before the isolate serves: in each worker, and again in an isolate that replaces another. It may wait, for at most `handler_millis_max`, and write. If it fails, the server does not start. Only while the project loads. */
    onStart(fn: (...args: any[]) => any, options?: Record<string, any>): void;
    /** Runs the function when the server shuts down or a reload has replaced the isolate: in each worker, after its last answer, within `shutdown_millis_max`. Only while the project loads. */
    onStop(fn: (...args: any[]) => any): void;
    /** Declares a check of the app, beside those of the server. When the server is asked whether it is ready, one worker calls the function, at most once a second. It may wait, and has 2 seconds. If it throws an error or returns `false`, the answer has the status 503. Only while the project loads. */
    health(name: string, fn: (...args: any[]) => any): void;
    /** The path of a route, with its query. Not while the project loads. */
    urlFor(name: string, params?: Record<string, any>): string;
    /** Calls the function in each worker, again and again: `seconds` after the worker has started, and then `seconds` after each run has ended. It may wait, for at most `handler_millis_max`, and write. An error is logged, and the timer goes on. A reload ends the timer. Only while the project loads. */
    every(seconds: number, fn: (...args: any[]) => any): void;
    /** An answer with what the template prints. Its content type is that of the file's extension. In a file that ends in `.html`, `.htm`, `.xml` or `.svg` printed values are escaped. */
    render(name: string, data?: any, options?: ResponseOptions): Response;
    /** What a template prints that is no file. */
    renderString(template: string, data?: any): string;
    /** Lets scripts of other sites call these paths. Answers preflight requests itself. It does not open the protection against requests of other sites, see `[csrf]`. */
    cors(options: CorsOptions): NativeMiddleware;
    /** Refuses with 429 what is above the limit, with `Retry-After`. The window slides. All workers count together. The fields `RateLimit` and `RateLimit-Policy` say what is left. With a function as its key it runs among the script's own middleware, in its order. */
    rateLimit(options: RateLimitOptions): NativeMiddleware;
    /** Lets only people in who know a password (RFC 7617): 401 for all others. With `verify` it runs among the script's own middleware, in its order. */
    basicAuth(options: BasicAuthOptions): NativeMiddleware;
    /** Lets only requests in that have a token (RFC 6750): 401 for all others. With `verify` it runs among the script's own middleware, in its order. */
    bearerAuth(options: BearerAuthOptions): NativeMiddleware;
    /** Gives the answer to the first POST, PATCH, PUT or DELETE with an `Idempotency-Key` again to each repetition by the same user, with `Idempotent-Replayed: true` and without calling a handler. It is recorded in the app's database together with what the handler has written last. Another request with the same key is refused with 422, and one while the first still runs with 409. It runs among the script's own middleware, in its order. It works with SQLite. */
    idempotency(options: IdempotencyOptions): NativeMiddleware;
    /** Admits only clients whose addresses are in these networks: 403 for all others. The address is that of `req.ip`: behind a proxy set `trusted_proxies`, and let the proxy send `X-Forwarded-For`. Where only the proxy is known, the answer is 403 too. */
    allowIps(options: AllowIpsOptions): NativeMiddleware;
    /** Adds header fields that make browsers more careful: `X-Content-Type-Options: nosniff` and those of the options. A field that the answer has already stays as it is. */
    secureHeaders(options?: SecureHeadersOptions): NativeMiddleware;
    /** Sends a message to all functions that `app.subscribe` gave for a topic, on all workers. It leaves when the writes of the request so far are on disk, and not at all if they fail or the `db.batch` around it is rolled back. Messages of one worker on one topic arrive in their order. */
    publish(topic: string, message: any): void;
    /** Calls the function with each message of a topic, in each worker, one after the other. Each call is a run of its own, with the limits of a handler; its errors are logged. Only while the project loads. */
    subscribe(topic: string, fn: (...args: any[]) => any, options?: Record<string, any>): void;
    /** Has a topic keep its last messages, so that an event stream whose client connects again gets those that it missed. The first declaration that names a topic counts. Only while the project loads. */
    topic(name: string, options: Record<string, any>): void;
    /** The members of a topic, in the order in which they joined: those of all workers. Each has `id` and the `data` that it joined with. */
    presence(topic: string): any[];
    /** An answer with a file. The server sends it as it sends those in `public/`: in parts if the client asks for parts, and not at all if the client has it. An error with the status 404 if there is none. A path leads out of the folder neither by `..` nor by a link, and has no names that begin with a dot. The database and the files beside it are never sent. */
    file(path: string, how?: Record<string, any>, options?: ResponseOptions): Response;
    /** The URL of a file in `public/` with the version of its content: `/css/app.css?v=9f86d081884c7d65`. Clients keep what they get there for a year, because a file that changes has another URL. Templates have the same function. */
    asset(name: string): string;
    /** Checks and converts data. Gives the values of the schema's fields if all are valid, else messages by the names of fields. */
    validate<const S extends Schema>(data: unknown, schema: S & CheckedSchema<S>): Validated<S>;
    /** The page of a list that a request asks for: a page that is not there is the nearest that is. `limit` and `offset` are for `LIMIT ? OFFSET ?`. `first` and `last` number the rows of the page, from 1. `prev` and `next` are URLs with the rest of the query. `links` has the first and the last page and those around this one, each with `page`, `url` and `current`; where pages are left out stands one with `gap`. */
    paginate(total: number, options?: Record<string, any>): { page: number; pages: number; limit: number; total: number; offset: number; first: number; last: number; prev: string | null; next: string | null; links: any[] };
    /** Declares jobs: the function that does them. It runs on a thread for jobs, apart from requests, and may wait. If it fails, it is called again, at most `attempts` times in all. It can also be called again after it has succeeded, if the process ends at that moment. Only while the project loads. */
    job(name: string, options: JobOptions, fn: (args: any, job: Job) => unknown): void;
    job(name: string, fn: (args: any, job: Job) => unknown): void;
    /** Declares a job that is added by the clock: once for each time of the pattern in all processes that share the database. A time that comes while the job of an earlier one has not ended is left out. Only while the project loads. */
    cron(pattern: string, name: string, options: CronOptions, fn: (run: CronRun, job: Job) => unknown): void;
    cron(pattern: string, name: string, fn: (run: CronRun, job: Job) => unknown): void;
    /** Adds a job, in the same transaction as the other writes of the request: it runs if they are kept, and once they are on disk. Returns its number; with `unique` that of the one which is there. */
    enqueue(name: string, args?: any, options?: Record<string, any>): OnDatabase<number>;
    /** Adds many jobs of one name, and perhaps one that follows them, in the same transaction as the other writes of the request. Returns the number of the batch. */
    enqueueBatch(name: string, list: any, options?: Record<string, any>): OnDatabase<number>;
    /** Cancels a job, in the same transaction as the other writes of the request. An attempt that runs is given up where it waits, and what it does from then on does not count. False if there is no such job, or it has ended. */
    cancelJob(id: number): OnDatabase<boolean>;
    /** Returns how a job is, or nothing if there is none with this number: one that was never added, or was removed after its end. `state` is `ready`, `scheduled`, `running`, `done`, `dead` or `cancelled`, `attempts` the number of attempts that have begun. `progress` and `progress_text` are what its function told last. `added`, `due`, `started` (the last attempt) and `ended` are times in seconds since 1970. `error` is the error of the last attempt that failed, with its stack. */
    jobStatus(id: number): OnDatabase<{ state: string; name: string; queue: string; attempts: number; progress: any; progressText: string | null; added: number; due: number; started: any; ended: any; error: string | null } | null>;
    /** Gives the answer to a GET request again to all who ask the same, without calling a handler, and with `Age`. One request makes it for all who ask meanwhile, on all workers. Requests with `Authorization`, a cookie or a client's certificate are not answered so. Answers are kept whose status is 200, 301 or 404, and not those that set a cookie, have `Cache-Control` with `private`, `no-store` or `no-cache`, depend on other header fields by `Vary`, read a session, or are streams or files. Other ready middleware of its paths stands before it, that of the script behind it. */
    cached(options: CachedOptions): NativeMiddleware;
    /** Calls the function, which may wait, while no other handler of the process has the lock, on any worker; on PostgreSQL no handler of any process. It returns what the function returns. The lock is free again when the function has ended or failed, and what it wrote is on disk; if its request was given up, when the cleanup has ended. Where the lock is not free in time, it is an error with the `code` `lock_timeout` that answers 503. A handler must not ask for a lock that it has. */
    lock<T>(name: string, options: Record<string, any>, fn: () => T | PromiseLike<T>): Promise<T>;
    lock<T>(name: string, fn: () => T | PromiseLike<T>): Promise<T>;
    /** Calls the function, which may wait, and records the time as a span of the request's trace. It returns what the function returns; an error of the function marks the span and is passed on. Statements, templates, requests and spans that begin meanwhile are within this span. Without traces it only calls the function. */
    trace<T>(name: string, attributes: Record<string, any>, fn: () => T | PromiseLike<T>): Promise<T>;
    trace<T>(name: string, fn: () => T | PromiseLike<T>): Promise<T>;
  }

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

  export const render: App["render"];

  export const file: App["file"];

  /** Lines on standard error: time, level, message, fields and the id of the request. They accept any value, and never throw. */
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

  /** The app's database. All writes of the requests that run together are committed together, and no answer leaves before its commit. */
  export namespace db {
    /** The rows of a statement; of an INSERT, UPDATE or DELETE what its RETURNING says. Inside a request it sees what the request wrote. Runs in place up to `query_inline_millis_max`; beyond that it waits for a reader thread where a script can wait in the middle of a call, and fails elsewhere: `queryAsync` always waits. */
    function query<T = Row>(sql: string, params?: any): OnDatabase<T[]>;
    /** The first row of a statement, or nothing. */
    function one<T = Row>(sql: string, params?: any): OnDatabase<T | null>;
    /** Runs a statement. `changes` is the number of rows that it changed, `last_id` the rowid of the last row that was inserted. */
    function exec(sql: string, params?: any): OnDatabase<{ changes: number; lastId: number }>;
    /** Calls the function in a transaction: all that it writes is kept, or, if it throws, nothing, and the error is passed on. Batches nest. Nothing inside may wait. */
    function batch<T>(fn: (value: any) => AtOnce<T>): OnDatabase<T>;
    /** Calls the function, which may wait, with a transaction of its own: what it does with `tx` is kept when it has ended, or, if it fails, nothing, and the error is passed on. It is rolled back too when it takes longer than `transaction_millis_max` and when the client leaves. Others who write wait meanwhile; use `batch` for functions that do not wait. */
    function transaction<T>(fn: (tx: Transaction) => T | PromiseLike<T>): Promise<T>;
    /** The rows of a long read, on a reader thread, without blocking the worker, after what this request wrote was committed. At most `statement_millis_max`. */
    function queryAsync<T = Row>(sql: string, params?: any): Promise<T[]>;
    /** The first row of a long read, or nothing; see `queryAsync`. */
    function oneAsync<T = Row>(sql: string, params?: any): Promise<T | null>;
    /** A statement as a template: db.sql`SELECT * FROM t WHERE id = ${id}`. The values are bound, never pasted. */
    function sql<T = Row>(strings: TemplateStringsArray, ...values: unknown[]): OnDatabase<T[]>;
    /** A query for a full-text search that finds the rows with all words of a text: for `MATCH ?` of FTS5, or for `to_tsquery('simple', ?)` on PostgreSQL. No text is an error; one without words finds nothing. */
    function ftsQuery(text: string, options?: Record<string, any>): string;
    /** The SQL that the database speaks: `sqlite` or `postgres`. */
    function dialect(): string;
  }

  /** What templates can use beside what Jinja2 has. */
  export namespace template {
    /** Gives templates a filter: `{{ price|money }}` calls the function with the value and the filter's arguments. What it returns is escaped like any value. Only while the project loads. */
    function filter(name: string, fn: (...args: any[]) => any): void;
    /** Gives templates a function: `{{ link(owner) }}` calls it. Named arguments come as a map behind the others. Only while the project loads. */
    function func(name: string, fn: (...args: any[]) => any): void;
  }

  /** Digests, signatures, encryption and random bytes. */
  export namespace crypto {
    /** The SHA-256 digest: 32 bytes. */
    function sha256(data: string | Uint8Array | ArrayBuffer): Uint8Array;
    /** The SHA-384 digest: 48 bytes. */
    function sha384(data: string | Uint8Array | ArrayBuffer): Uint8Array;
    /** The SHA-512 digest: 64 bytes. */
    function sha512(data: string | Uint8Array | ArrayBuffer): Uint8Array;
    /** The SHA-1 digest: 20 bytes. Only for old protocols that ask for it: it is broken. */
    function sha1(data: string | Uint8Array | ArrayBuffer): Uint8Array;
    /** The MD5 digest: 16 bytes. Only for old protocols that ask for it: it is broken. */
    function md5(data: string | Uint8Array | ArrayBuffer): Uint8Array;
    /** The HMAC of data. Compare it by `crypto.equal`. */
    function hmac(algorithm: string, key: string | Uint8Array | ArrayBuffer, data: string | Uint8Array | ArrayBuffer): Uint8Array;
    /** Whether two secrets are equal. The time it takes depends on their length only, so it does not tell where they differ. */
    function equal(a: string | Uint8Array | ArrayBuffer, b: string | Uint8Array | ArrayBuffer): boolean;
    /** Random bytes that cannot be guessed. */
    function randomBytes(count: number): Uint8Array;
    /** A random text that cannot be guessed, for links and keys: letters, digits, `-` and `_`. */
    function token(count?: number): string;
    /** Encrypts data with the project's secret keys, so that a client can keep it. The text has letters, digits, `-` and `_`. */
    function seal(data: string | Uint8Array | ArrayBuffer, purpose: string, options?: Record<string, any>): string;
    /** The data of a sealed text. Nothing if it was changed, sealed by other keys or for another purpose, or if its `max_age` has passed. */
    function open(text: string, purpose: string): Uint8Array | null;
    /** Encrypts data with AES-256-GCM: a random nonce of 12 bytes, the encrypted data, a tag of 16 bytes. One key is good for 2^32 calls. */
    function encrypt(data: string | Uint8Array | ArrayBuffer, key: string | Uint8Array | ArrayBuffer, extra?: string | Uint8Array | ArrayBuffer): Uint8Array;
    /** The data again. Nothing if anything was changed, or the key or `extra` is another. */
    function decrypt(data: string | Uint8Array | ArrayBuffer, key: string | Uint8Array | ArrayBuffer, extra?: string | Uint8Array | ArrayBuffer): Uint8Array | null;
    /** A new pair of keys that sign and verify, as PEM texts. */
    function ed25519Keypair(): { privateKey: string; publicKey: string };
    /** The signature of data: 64 bytes. */
    function ed25519Sign(data: string | Uint8Array | ArrayBuffer, privateKey: string | Uint8Array | ArrayBuffer): Uint8Array;
    /** Whether the key's other half signed this data. */
    function ed25519Verify(data: string | Uint8Array | ArrayBuffer, signature: string | Uint8Array | ArrayBuffer, publicKey: string | Uint8Array | ArrayBuffer): boolean;
    /** The signature of data by RSA, ECDSA or Ed25519. */
    function sign(algorithm: string, key: any, data: string | Uint8Array | ArrayBuffer, options?: Record<string, any>): Uint8Array;
    /** True if the key's other half signed this data by this algorithm. */
    function verify(algorithm: string, key: any, data: string | Uint8Array | ArrayBuffer, signature: string | Uint8Array | ArrayBuffer, options?: Record<string, any>): boolean;
    /** A key that is derived from another by HKDF. */
    function hkdf(hash: string, key: string | Uint8Array | ArrayBuffer, options?: HkdfOptions): Uint8Array;
    /** A key that is derived from a password by PBKDF2, on a thread of its own. It is for other systems that ask for it: passwords of users are for the module `password`. Long derivations delay the others: limit the rate of a route that has one. */
    function pbkdf2(hash: string, password: string | Uint8Array | ArrayBuffer, options: Pbkdf2Options): Promise<Uint8Array>;
    /** A new secret for an authenticator app: 20 random bytes in base32. Keep it sealed, by `crypto.seal`. */
    function totpSecret(): string;
    /** The `otpauth:` URI of a secret. Shown as a QR code, an authenticator app can read it. */
    function totpUri(names: TotpNames): string;
    /** The number of the code's 30 seconds, which grows with time, if the code is right; else nothing. Keep the number for `after`, so that a code counts once. */
    function totpVerify(secret: string, code: string, options?: TotpOptions): number | null;
    /** A JSON Web Token. */
    function jwtSign(claims: any, key: Record<string, any>, options?: JwtSignOptions): string;
    /** The claims of a token. One that does not count is an error that answers 401, with a `code`: `jwt_malformed`, `jwt_key`, `jwt_algorithm`, `jwt_signature`, `jwt_expired`, `jwt_not_yet_valid`, `jwt_audience`, `jwt_issuer`. A token for an audience is refused unless `audience` names it. */
    function jwtVerify(token: string, keys: any, options?: JwtVerifyOptions): any;
    /** Header and claims of a token WITHOUT any check, neither of its signature nor of its times. Everybody can write such a token: use this to look, or to choose a key, and `crypto.jwtVerify` to trust. A text that is no token is an error that answers 401, with the `code` `jwt_malformed`. */
    function jwtDecode(token: string): { header: Record<string, any>; claims: Record<string, any> };
    /** Checks that another service signed a webhook. For one that does not count it is an error that answers 401, with a `code`: `webhook_header`, `webhook_timestamp`, `webhook_signature`. `req:verifyWebhook` takes body and header fields from a request. */
    function verifyWebhook(scheme: string, secrets: any, body: string | Uint8Array | ArrayBuffer, headers: Record<string, any>, options?: Record<string, any>): void;
  }

  /** Files in the project's storage folder, and those of the project itself to read. */
  export namespace files {
    /** The text of a file, of at most 256 KiB unless the script can wait in the middle of a call. */
    function read(path: string, options?: Record<string, any>): string | Uint8Array;
    /** The text of a file of any size that fits into memory. */
    function readAsync(path: string, options?: Record<string, any>): Promise<string | Uint8Array>;
    /** The bytes of a file, as `readAsync` gives the text. */
    function bytes(path: string, options?: Record<string, any>): Promise<Uint8Array>;
    /** Calls the function with each line of a file. Returns how many there were. A line has at most 1 MiB. */
    function lines(path: string, fn: (...args: any[]) => any, options?: Record<string, any>): Promise<number>;
    /** Opens a file to be read piece by piece. */
    function open(path: string, options?: Record<string, any>): Promise<FileStream>;
    /** Writes a file, and makes its folders. A reader sees the old content or the new one, whole. */
    function write(path: string, data: string | Uint8Array | ArrayBuffer): Promise<void>;
    /** Adds to the end of a file, and makes it and its folders. */
    function append(path: string, data: string | Uint8Array | ArrayBuffer): Promise<void>;
    /** Begins a file that is written piece by piece. It is there under its path once it is closed. */
    function create(path: string): Promise<FileWriter>;
    /** The names in a folder, sorted, at most 10,000; those of folders end with `/`. */
    function list(path?: string, options?: Record<string, any>): any[];
    /** What there is: `type` (`file`, `folder` or `other`), `size` in bytes, `modified` in seconds since 1970. Nothing if there is nothing. */
    function stat(path: string, options?: Record<string, any>): any;
    /** Whether there is a file or a folder. */
    function exists(path: string, options?: Record<string, any>): boolean;
    /** Removes a file or an empty folder. Tells whether there was one. */
    function remove(path: string): Promise<boolean>;
    /** Gives a file or folder another path. A file that is there is replaced. */
    function rename(path: string, to: string): Promise<void>;
    /** Makes a folder, and those around it. */
    function mkdir(path: string): Promise<void>;
  }

  /** What an app remembers of a browser from request to request. */
  export namespace session {
    /** Ends all sessions that have a value under a key, as after a change of the password. That of this request ends too, unless it is given as `except`: then call its `regenerate` too, or a copy of its cookie stays logged in. Returns how many there were. On PostgreSQL it waits. */
    function endAll(values: Record<string, any>, except?: Session): OnDatabase<number>;
    /** Ends one of the sessions that have a value under a key. Returns whether it was there: the id of a session with another value ends none. On PostgreSQL it waits. With `store = "cookie"` it is an error, as `list` and `endAll` are. */
    function endOne(values: Record<string, any>, id: string): OnDatabase<boolean>;
    /** Lists the sessions that have a value under a key, the newest first, at most 100. Each has `id` for `endOne`, from which no cookie can be made, `began` and `ends`, in seconds since 1970, and `current`. On PostgreSQL it waits. */
    function list(values: Record<string, any>, current?: Session): OnDatabase<any[]>;
  }

  /** Texts in the languages of an app, from `locales/*.toml`. */
  export namespace i18n {
    /** The text of a key in a locale, for what no request asks for, such as mails. In a handler use `req:t`. */
    function t(locale: string, key: string, values?: Record<string, any>): string;
    /** The names of the app's locales. */
    function locales(): any[];
  }

  /** The clock, waiting, and dates in time zones. */
  export namespace time {
    /** The time in seconds since 1970-01-01 00:00 UTC, with fractions of a second. */
    function now(): number;
    /** The time in whole milliseconds since 1970-01-01 00:00 UTC. */
    function nowMs(): number;
    /** Waits without blocking other requests. A negative, too long or NaN duration is an error. */
    function sleep(seconds: number): Promise<void>;
    /** The date and the time of day in a time zone. `weekday` is 1 for Monday to 7 for Sunday, `yearday` begins with 1, `offset` is how many seconds the zone is ahead of UTC then. */
    function date(seconds?: number, options?: Record<string, any>): { year: number; month: number; day: number; hour: number; minute: number; second: number; weekday: number; yearday: number; offset: number };
    /** A later or an earlier time. A day is one of the calendar, so it keeps the time of day when the clocks change. Where a month has no such day, it is its last one. */
    function add(seconds: number, span: Record<string, any>): number;
    /** The time of a date in seconds since 1970-01-01 00:00 UTC. A date without a time is its midnight. What is not a date is an error. */
    function parse(text: string, format?: string, options?: Record<string, any>): number;
    /** A date as text. Names of months and days are English: `req:format_date` writes those of other languages. */
    function format(seconds: number, format?: string, options?: Record<string, any>): string;
    /** The date for a header field such as `Expires` (RFC 9110 section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`. Parts of a second are left out. Years before 1970 and after 9999 are errors. `time.parse` reads it. */
    function httpDate(seconds?: number): string;
  }

  /** Environment variables. */
  export namespace env {
    /** The value of an environment variable, or nothing if it is not set. Bytes that are not UTF-8 are replaced. Variables that hold secrets of the server, such as `SAMPAN_SECRETS_KEYS` and `SAMPAN_DB_URL`, are as if they were not set. */
    function get(name: string): string | null;
  }

  /** JSON text from values and values from JSON text. */
  export namespace json {
    /** The JSON text of a value, as an answer has it. What JSON does not have is an error: bytes that are not UTF-8, cycles, nesting beyond `json_depth_max`. */
    function encode(value: any, options?: Record<string, any>): string;
    /** The value of a JSON text. Text that is not JSON is an error that names the line and column. */
    function decode(text: string | Uint8Array | ArrayBuffer): any;
  }

  /** Comma-separated values, as spreadsheets and databases exchange them. */
  export namespace csv {
    /** The CSV text of rows. The first row names the columns of the header; lists have none. */
    function encode(rows: any, options?: Record<string, any>): string;
    /** A writer for rows that come one after the other. */
    function writer(options?: Record<string, any>): CsvWriter;
    /** Calls the function with each record of a text. Returns how many there were. Text that is no CSV is an error that names the line. */
    function each(text: string | Uint8Array | ArrayBuffer, fn: (...args: any[]) => any, options?: Record<string, any>): number;
  }

  /** Regular expressions in linear time, whatever the pattern and the text. `RegExp` backtracks, so some of its patterns take exponential time over a text that a client chose; these cannot. They have no look-around and no backreferences. The syntax is that of Rust's crate `regex`: `\d`, `\w`, `\p{L}`, `(?<name>...)`, `a|b`, `a*?`. */
  export const regex: {
    /** Whether the pattern matches anywhere in the text. */
    test(text: string, pattern: string): boolean;
    /** The text of the first match, or nothing. */
    find(text: string, pattern: string): string | null;
    /** The texts of all matches, one behind the other. */
    findAll(text: string, pattern: string): any[];
    /** The first match, or nothing: its `text`, its `groups` in order, and those that have a name in `named`. A group that took no part is null. */
    match(text: string, pattern: string): any;
    /** All matches, each as `match` gives it. */
    matchAll(text: string, pattern: string): any[];
    /** The text with another one in the place of each match. */
    replace(text: string, pattern: string, replacement: string | ((...args: any[]) => any)): string;
    /** The pieces of the text between the matches. */
    split(text: string, pattern: string): any[];
    /** A pattern that matches this text and nothing else. */
    escape(text: string): string;
    /** A compiled pattern, which can be used again and again. */
    "new"(pattern: string, options?: Record<string, any>): Regex;
  };

  /** Encodes and decodes texts: base64, base32, hex, URLs, HTML, UUIDs. Compresses data. Finds IP addresses in networks. */
  export namespace codec {
    /** The base64 of data, padded with `=` (RFC 4648 section 4). */
    function base64Encode(data: string | Uint8Array | ArrayBuffer): string;
    /** The data of base64, padded or not. Nothing if the text is no base64; line ends are none. */
    function base64Decode(text: string): Uint8Array | null;
    /** The base64 of data that can stand in URLs and names, with `-` and `_` and without padding (RFC 4648 section 5). */
    function base64urlEncode(data: string | Uint8Array | ArrayBuffer): string;
    /** The data of such a text, padded or not. Nothing if it is none. */
    function base64urlDecode(text: string): Uint8Array | null;
    /** The base32 of data, padded with `=` (RFC 4648 section 6). */
    function base32Encode(data: string | Uint8Array | ArrayBuffer): string;
    /** The data of base32, padded or not, in either case. Nothing if the text is not base32; spaces are not. */
    function base32Decode(text: string): Uint8Array | null;
    /** Two digits for each byte, in lower case. */
    function hexEncode(data: string | Uint8Array | ArrayBuffer): string;
    /** The data of such a text, in either case. Nothing if it is none. */
    function hexDecode(text: string): Uint8Array | null;
    /** Data as a part of a URL: all but letters, digits and `-._~` becomes `%XX` (RFC 3986 section 2.1). */
    function urlEncode(data: string | Uint8Array | ArrayBuffer): string;
    /** The parts of a URL, as browsers read it (WHATWG). `username` and `password` are decoded; `path`, `query` and `fragment` are as in the URL. `host` is in small letters and Punycode, an IPv6 address without brackets. `port` is that of the scheme if the URL has none. Parts that are not there are nothing. Nothing if the text is not a URL with a scheme, or longer than 65536 bytes. */
    function urlParse(text: string): { scheme: string; username: string | null; password: string | null; host: string | null; port: any; path: string; query: string | null; fragment: string | null } | null;
    /** The URL of parts, as `urlParse` gives them. Characters that cannot stand in a part are encoded; no part can reach into the next. `%XX` in `path`, `query` and `fragment` stays as it is. */
    function urlBuild(parts: Record<string, any>): string;
    /** The names and values of a query or of a form (`application/x-www-form-urlencoded`), decoded. The value of a name that is given twice is a list. */
    function queryParse(text: string): any;
    /** The query of names and values, sorted by the names, without `?`. Values that are nothing are left out. */
    function queryBuild(values: Record<string, any>): string;
    /** Whether an address is in one of the networks. `::ffff:192.0.2.1` is the address 192.0.2.1. `unix:` among the networks has clients of Unix sockets. False for a text that is not an address; a network that is wrong is an error. */
    function ipIn(ip: string, networks: any[]): boolean;
    /** Data that is compressed as gzip (RFC 1952). */
    function gzip(data: string | Uint8Array | ArrayBuffer, options?: Record<string, any>): Uint8Array;
    /** The data of gzip. Nothing if it is not gzip or damaged. An error with the `code` `too_large` if it is larger than `bytes_max`. */
    function gunzip(data: string | Uint8Array | ArrayBuffer, options?: Record<string, any>): Uint8Array | null;
    /** Data that is compressed as zlib (RFC 1950), which HTTP calls `deflate`; with `raw` as DEFLATE alone (RFC 1951). */
    function deflate(data: string | Uint8Array | ArrayBuffer, options?: Record<string, any>): Uint8Array;
    /** The data that `deflate` compressed. Nothing if it is something else or damaged. An error with the `code` `too_large` if it is larger than `bytes_max`. */
    function inflate(data: string | Uint8Array | ArrayBuffer, options?: Record<string, any>): Uint8Array | null;
    /** The text of such a part. What is no `%XX` stays as it is, a `+` too; what is not UTF-8 is replaced. */
    function urlDecode(text: string): string;
    /** Text as HTML shows it, between tags and in quoted attributes: `&`, `<`, `>`, `"` and `'` are escaped. Templates do so by themselves. */
    function htmlEscape(text: string): string;
    /** A random UUID (RFC 9562 section 5.4). */
    function uuidV4(): string;
    /** A UUID that begins with the time, so that later ones sort after earlier ones (RFC 9562 section 5.7). Good keys for tables. */
    function uuidV7(): string;
  }

  /** Hashes passwords and verifies them, on threads of their own. */
  export namespace password {
    /** The hash of a password, to be kept in a database: Argon2id with 19 MiB, two passes and a random salt. An empty password and one of more than 65536 bytes is an error. */
    function hash(password: string | Uint8Array | ArrayBuffer): Promise<string>;
    /** Whether a password is the one that was hashed. False for an empty one, for one of more than 65536 bytes, and against bcrypt for one with a zero byte. bcrypt reads the first 72 bytes only. */
    function verify(password: string | Uint8Array | ArrayBuffer, hash?: string): Promise<boolean>;
    /** Whether `password.hash` would make a stronger hash today. After a login the password is at hand: hash it again then. */
    function needsRehash(hash: string): boolean;
  }

  /** Values in the memory of the process, which all its workers share. It is empty after a restart and after a reload. With `[cache] shared = true` on PostgreSQL they are in the database, for all processes, and stay there; each function waits then. Keys have at most 1024 bytes. */
  export const cache: {
    /** A copy of the value of a key, or nothing. */
    get(key: string): OnSharedCache<any>;
    /** Keeps a copy of a value. Other workers see it when the writes of the request so far are on disk, and not at all if they fail. Where it needs room, those that were used the longest ago go. */
    set(key: string, value: any, options?: Record<string, any>): OnSharedCache<void>;
    /** Adds to the whole number of a key, and returns the sum. A key that is not there counts as 0. Workers that add at once lose no addition. Other workers see it when the writes of the request so far are on disk, and not at all if they fail. A value that is not a whole number is an error. */
    incr(key: string, by?: number, options?: Record<string, any>): OnSharedCache<number>;
    /** The value of a key. If there is none, the function makes it, for all who want it meanwhile, on all workers, and a copy of what it returns is kept. If it fails, so do the others; if its request is given up, the next one makes the value. What it returns is not kept if the key was changed meanwhile. */
    once<T>(key: string, options: Record<string, any>, fn: () => T | PromiseLike<T>): Promise<T>;
    once<T>(key: string, fn: () => T | PromiseLike<T>): Promise<T>;
    /** Removes a key. Other workers see that when the writes of the request so far are on disk, and not at all if they fail. */
    delete(key: string): OnSharedCache<void>;
  };

  /** Measurements of the app, which the server shows beside its own at `/_sampan/metrics`. They are declared while the project loads. A second declaration of the same metric gives the same one. Of one metric 1,000 label sets are kept; others are counted with the value `other` in each label. */
  export namespace metrics {
    /** Declares a number that only grows, over all workers: `orders_total`. */
    function counter(name: string, options?: Record<string, any>): Counter;
    /** Declares a number that goes up and down, which all workers share: `queue_length`. */
    function gauge(name: string, options?: Record<string, any>): Gauge;
    /** Declares the distribution of values, such as times in seconds: `payment_seconds`. */
    function histogram(name: string, options?: Record<string, any>): Histogram;
    /** All measurements of the app and the server, as `/_sampan/metrics` has them; those of the app alone on this worker with `[metrics] enabled = false`, and in tests. */
    function text(): string;
  }

  /** Mails. */
  export namespace mail {
    /** Sends a mail. It is a job: a row of the app's database, in the same transaction as the other writes of the request, so it is sent if they are kept. What the mail server does not take for now is tried again; `sampan jobs` shows what was not delivered. `sampan dev` shows the mail in place of that, and tests find it in `t.mails`. */
    function send(mail: any): OnDatabase<void>;
    /** The mail as it would be sent, by RFC 5322. Nothing is sent. */
    function source(mail: any): string;
  }

  /** Tests: only in files that `sampan test` runs. */
  export const t: {
    /** Declares a test. It passes if the function ends without an error. It begins with the database as the migrations leave it, without cookies, and may wait. */
    test(name: string, fn: (...args: any[]) => any): void;
    /** Runs the function before each test of the file. It may wait. */
    beforeEach(fn: (...args: any[]) => any): void;
    /** Sends a GET request to the app. `status`; `headers` by their names in lower case, a list where a field comes twice; `body`; `json`, the value of a JSON answer; `html`, the page of an HTML answer. Redirects are not followed. */
    get(path: string, options?: Record<string, any>): Promise<{ status: number; headers: Record<string, any>; body: string | Uint8Array | ArrayBuffer; json: any; html: HtmlPage }>;
    /** Sends a POST request to the app, see `get`. */
    post(path: string, options?: Record<string, any>): Promise<{ status: number; headers: Record<string, any>; body: string | Uint8Array | ArrayBuffer; json: any; html: HtmlPage }>;
    /** Sends a PUT request to the app, see `get`. */
    put(path: string, options?: Record<string, any>): Promise<{ status: number; headers: Record<string, any>; body: string | Uint8Array | ArrayBuffer; json: any; html: HtmlPage }>;
    /** Sends a PATCH request to the app, see `get`. */
    patch(path: string, options?: Record<string, any>): Promise<{ status: number; headers: Record<string, any>; body: string | Uint8Array | ArrayBuffer; json: any; html: HtmlPage }>;
    /** Sends a DELETE request to the app, see `get`. */
    delete(path: string, options?: Record<string, any>): Promise<{ status: number; headers: Record<string, any>; body: string | Uint8Array | ArrayBuffer; json: any; html: HtmlPage }>;
    /** Sends a request with any method to the app, see `get`. */
    request(method: string, path: string, options?: Record<string, any>): Promise<{ status: number; headers: Record<string, any>; body: string | Uint8Array | ArrayBuffer; json: any; html: HtmlPage }>;
    /** Connects to a WebSocket of the app. Where the app refuses, `status` is not 101, and `body` says why. It ends with the test. */
    ws(path: string, options?: Record<string, any>): Promise<TestSocket>;
    /** The mails that the test has sent, the oldest first. Each has `from`, `to`, `cc`, `bcc`, `subject`, `text`, `html`, `attachments` (their names) and `source`. None of them leaves. */
    mails(): any[];
    /** Answers requests that the app, or the test, sends to other servers with `fetch`. Where several mocks match, the last counts. It ends with the test; outside of tests it is for all of the file. Requests that no mock matches fail, unless they are to this machine: the network is off. */
    fetchMock(pattern: string, answer: Record<string, unknown> | ((...args: any[]) => any)): FetchMock;
    /** Lets requests through to the network, until the test ends. */
    fetchAllow(pattern: string): void;
    /** Fails unless both values are the same, all that is in them included, and shows how they differ. The order of keys does not count. */
    equal(actual: any, expected: any, message?: string): void;
    /** Fails if both values are the same. */
    notEqual(actual: any, expected: any, message?: string): void;
    /** Fails if the value is nothing or false. */
    ok(actual: any, message?: string): void;
    /** Fails unless a text or a list contains the part. */
    contains(actual: any, part: any, message?: string): void;
    /** Fails unless the function raises an error. Returns its message. The function may wait. */
    fails(fn: (...args: any[]) => any, part?: string): Promise<string>;
    /** Compares the value, or the text, with what it was when the test ran first. That is kept in `tests/snapshots`; `sampan test --update` keeps what it is now. Of an answer the date, the request's id and the values of cookies do not count. */
    snapshot(actual: any, name?: string): void;
    /** Runs the jobs of the app that are due, those that they add included, one after the other. Returns how many attempts `ran`, how many of these `failed`, and how many jobs are `dead` since. In tests jobs run only here; `setTime` makes later ones due. */
    runJobs(): Promise<{ ran: number; failed: number; dead: number }>;
    /** Sets the time of day for the app and the test, until the test ends: `time`, the clocks of the languages, sessions, cookies and tokens. It stands still then. SQL has its own clock. */
    setTime(seconds?: number): void;
  };

  /** A transaction that is open, in the function of `db.transaction`. It is over when that has ended; from then on its methods fail. */
  export interface Transaction {
    /** The rows of a statement; of an INSERT, UPDATE or DELETE what its RETURNING says. It sees what the transaction wrote. */
    query<T = Row>(sql: string, params?: any): OnDatabase<T[]>;
    /** The first row of a statement, or nothing. */
    one<T = Row>(sql: string, params?: any): OnDatabase<T | null>;
    /** Runs a statement. `changes` is the number of rows that it changed, `last_id` the rowid of the last row that was inserted. */
    exec(sql: string, params?: any): OnDatabase<{ changes: number; lastId: number }>;
    /** Adds a job in the transaction: it runs if that is committed. Returns its number, as `app.enqueue` does. */
    enqueue(name: string, args?: any, options?: Record<string, any>): OnDatabase<number>;
    /** Calls the function, which must not wait: all that it writes with `tx` is kept, or, if it throws, nothing, and the error is passed on. Batches nest. */
    batch<T>(fn: (value: any) => AtOnce<T>): OnDatabase<T>;
  }

  /** Reads a file piece by piece, for answers that are streamed. It goes with its request. */
  export interface FileStream {
    /** The next bytes, at most 64 KiB; nothing at the end. */
    read(): Promise<any>;
    /** Closes the file, which the end of the request does too. */
    close(): void;
  }

  /** Writes a file piece by piece. Without `close` nothing is kept of it. It goes with its request. */
  export interface FileWriter {
    /** Writes the next bytes. */
    write(data: string | Uint8Array | ArrayBuffer): Promise<void>;
    /** Ends the file, and gives it its path. A file that is there is replaced. */
    close(): Promise<void>;
  }

  /** A file of a form. It has a `name`, which is safe to use for a file, a `type` as the client says, and a `size` in bytes. It goes with its request unless it is saved. */
  export interface UploadedFile {
    [key: string]: any;
    /** Keeps the file, and makes its folders. A file that is there is replaced. */
    save(path: string): Promise<void>;
    /** The text of the file. */
    text(): Promise<string>;
    /** The bytes of the file. */
    bytes(): Promise<Uint8Array>;
    /** The next bytes, at most 64 KiB; nothing at the end. */
    read(): Promise<any>;
    /** What `file.name` and the like give. */
    get(key: string): any;
    /** An error: a file that was sent cannot be changed. */
    set(key: string, value?: any): void;
    /** The keys. */
    keys(): any[];
  }

  /** Ready middleware, for `app.use`. */
  export interface NativeMiddleware {
    readonly [Symbol.toStringTag]: "NativeMiddleware";
  }

  /** What the app remembers of a browser, by keys. Values are what JSON has; what is read is a copy, so assign it again after a change inside. It is written once, at the end of the handler, together with what the handler wrote to the database; not if that fails. That of a socket, `ws.req.session`, is read anew each time, and written at once. A socket cannot set a cookie: it neither begins a session nor gives it a new id, and it changes none with `store = "cookie"`. */
  export interface Session {
    [key: string]: any;
    /** The value under a key, or nothing: the same as `session.key`. */
    get(key: string): any;
    /** Puts a value under a key: the same as `session.key = value`. */
    set(key: string, value?: any): void;
    /** The keys that have a value. */
    keys(): any[];
    /** Ends the session, as for a logout: everything in it goes, and its cookie finds nothing any more. With `store = "cookie"` only this browser forgets it: a copy of the cookie works until it ends. What is set after this begins a new session. */
    clear(): void;
    /** Gives the session a new id and keeps what is in it. Call it at login: a visitor who knew the old id is not logged in. */
    regenerate(): void;
  }

  /** Writes CSV piece by piece, for answers that are streamed. It goes with its request. */
  export interface CsvWriter {
    /** Writes a row, and the header before the first one. At most 1 MiB is kept until it is taken. */
    add(row: any): void;
    /** The text that was written since the last time. */
    take(): string;
  }

  /** A compiled pattern of `regex.new`. */
  export interface Regex {
    /** Whether the pattern matches anywhere in the text. */
    test(text: string): boolean;
    /** The text of the first match, or nothing. */
    find(text: string): string | null;
    /** The texts of all matches, one behind the other. */
    findAll(text: string): any[];
    /** The first match, or nothing: its `text`, its `groups` in order, and those that have a name in `named`. A group that took no part is null. */
    match(text: string): any;
    /** All matches, each as `match` gives it. */
    matchAll(text: string): any[];
    /** The text with another one in the place of each match. */
    replace(text: string, replacement: string | ((...args: any[]) => any)): string;
    /** The pieces of the text between the matches. */
    split(text: string): any[];
  }

  /** A WebSocket. Beside its methods it has `ws.id` (a number, unique on its worker), `ws.data` (values that stay with the socket, also through a reload), `ws.req` (fields of the request that opened it: `method`, `path`, `url`, `params`, `query`, `cookies`, `headers`, `ip`, `id`, `session`, `auth`, `state` and those that middleware has set), `ws.buffered` (the bytes that wait for the client) and `ws.protocol` (the subprotocol). */
  export interface WebSocket {
    [key: string]: any;
    /** Sends a message. Returns what becomes of it: `sent`, `queued` (it waits for a commit, or for a client that does not read) or `dropped` (the socket is closed, or too much waits). What is sent while writes are not committed leaves when they are, and not at all if that fails. */
    send(message: string | Uint8Array | ArrayBuffer): string;
    /** Sends a message of bytes, also if they are text. */
    sendBytes(message: string | Uint8Array | ArrayBuffer): string;
    /** Sends a value as a text of JSON. */
    sendJson(value: any): string;
    /** Sends the socket each message that `app.publish` gives the topic from now on, on any worker, without a run of the script. It ends with the socket. */
    subscribe(topic: string, options?: Record<string, any>): void;
    /** Ends that. Returns whether the socket was subscribed. */
    unsubscribe(topic: string): boolean;
    /** Makes the client a member of a topic, until its socket ends: see `app.presence`. A second call replaces the data. */
    join(topic: string, data?: any): void;
    /** Ends that, as a message is sent: when writes are committed. Returns whether the client was a member. */
    leave(topic: string): boolean;
    /** Sends a ping. The server sends its own, see `[sockets]`. */
    ping(payload?: string | Uint8Array | ArrayBuffer): void;
    /** Closes the socket, behind what was sent before. While writes are not committed it closes when they are, and not at all if that fails. */
    close(code?: number, reason?: string): void;
    /** A field: the same as `ws.req`. */
    get(key: string): any;
    /** Replaces all values of `data`: the same as `ws.data = value`. */
    set(key: string, value?: any): void;
    /** The names of the fields. */
    keys(): any[];
  }

  /** Values that stay with a socket, by keys. Values are what JSON has; what is read is a copy, so assign it again after a change inside. */
  export interface SocketData {
    [key: string]: any;
    /** The value under a key, or nothing: the same as `data.key`. */
    get(key: string): any;
    /** Puts a value under a key: the same as `data.key = value`. */
    set(key: string, value?: any): void;
    /** The keys that have a value. */
    keys(): any[];
  }

  /** A stream of server-sent events. Beside its methods it has `events.last_id`: the id of the last event that the client saw before it connected again, or nothing. */
  export interface EventStream {
    [key: string]: any;
    /** Sends an event, and waits while the client is behind. What is sent while writes are not committed leaves when they are, and not at all if that fails. Once the client has left it fails with `cancelled`. */
    send(event: any): Promise<void>;
    /** Sends a comment, which pages do not see. The server sends its own, see `[sse]`. */
    comment(text: string): Promise<void>;
    /** Sends the client each message that `app.publish` gives the topic from now on, on any worker, without a run of the script. The stream stays open when its function has ended. Bytes are sent in base64. A client that connects again first gets what it missed of a topic that keeps messages, or else an event `resync`. */
    subscribe(topic: string, options?: Record<string, any>): void;
    /** Ends that. Returns whether the stream was subscribed. */
    unsubscribe(topic: string): boolean;
    /** Makes the client a member of a topic, until its stream ends: see `app.presence`. A second call replaces the data. The stream stays open when its function has ended. */
    join(topic: string, data?: any): void;
    /** Ends that, as an event is sent: when writes are committed. Returns whether the client was a member. */
    leave(topic: string): boolean;
    /** Waits until the client has left, or the server ends the stream. */
    wait(): Promise<void>;
    /** Ends the stream behind what was sent before. The client connects again unless it closes too. While writes are not committed it ends when they are, and not at all if that fails. */
    close(): void;
    /** A field: the same as `events.last_id`. */
    get(key: string): any;
    /** Fails: the fields cannot be set. */
    set(key: string, value?: any): void;
    /** The names of the fields. */
    keys(): any[];
  }

  /** An attempt to do a job, in its function. `job.id` is its number, `job.name` its name, `job.attempt` the number of the attempt from 1, and `job.key` an idempotency key: the same in all attempts, and of no other job. Give it to services that take one, so that what an earlier attempt did is not done twice. */
  export interface Job {
    [key: string]: any;
    /** Tells how far the job is: `sampan jobs` shows it. It is written soon, apart from what the job writes. */
    progress(n: number, text?: string): void;
    /** Has the job run again after this time, however this attempt ends. It counts as a failed attempt; after the last one the job is dead. */
    retryIn(time: any): void;
    /** The same as `job.key`. */
    get(key: string): any;
    /** An error: a job is only read. */
    set(key: string, value?: any): void;
    /** The keys that it has. */
    keys(): any[];
  }

  /** A number that only grows. */
  export interface Counter {
    /** Adds to the number, at once: also if the request fails later. */
    inc(n?: number, labels?: Record<string, any>): void;
  }

  /** A number that goes up and down. */
  export interface Gauge {
    /** Sets the number for all workers. */
    set(value: number, labels?: Record<string, any>): void;
    /** Adds to the number. */
    inc(n?: number, labels?: Record<string, any>): void;
    /** Takes away from the number. */
    dec(n?: number, labels?: Record<string, any>): void;
  }

  /** The distribution of values. */
  export interface Histogram {
    /** Takes note of a value. */
    observe(value: number, labels?: Record<string, any>): void;
  }

  /** The HTML of an answer. */
  export interface HtmlPage {
    /** The text of the first element that the selector finds, or nothing; without a selector that of the whole page. Runs of white space are one space. */
    text(selector?: string): string | null;
    /** The first element that the selector finds, or nothing: `tag`, `text`, `html` (what is inside), `attributes`. */
    one(selector: string): any;
    /** All elements that the selector finds, each as `one` gives it. */
    all(selector: string): any[];
    /** How many elements the selector finds. */
    count(selector: string): number;
  }

  /** The client's end of a WebSocket, in tests. Beside its methods it has the answer to the handshake: `ws.status` (101 unless the app has refused), `ws.headers`, `ws.body`, `ws.json`; and `ws.protocol`, the subprotocol that the app chose. */
  export interface TestSocket {
    [key: string]: any;
    /** Sends a message. */
    send(message: string | Uint8Array | ArrayBuffer): void;
    /** Sends a message of bytes, also if they are text. */
    sendBytes(message: string | Uint8Array | ArrayBuffer): void;
    /** Sends a value as a text of JSON. */
    sendJson(value: any): void;
    /** Waits for the app's next message: a text, or bytes. Fails if none comes in time, or if the socket is closed. */
    receive(timeoutMillis?: number): Promise<any>;
    /** Closes the socket, behind what was sent before. */
    close(code?: number, reason?: string): void;
    /** Waits until the socket is closed, by either end, and until the app has run its function for that. Returns `code` and `reason`: those of the app's close frame, 1006 if it ended without one. Messages that come meanwhile stay for `receive`. */
    closed(timeoutMillis?: number): Promise<{ code: number; reason: string }>;
    /** A field: the same as `ws.status`. */
    get(key: string): any;
    /** The names of the fields. */
    keys(): any[];
  }

  /** Answers requests of the app to other servers, in tests, and records them. */
  export interface FetchMock {
    /** The requests that it has answered, in their order: `method`, `url`, `headers` by their names in lower case, `body`, and `json`, the value of a JSON body. */
    calls(): any[];
    /** The number of requests that it has answered. */
    count(): number;
  }
}
