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
