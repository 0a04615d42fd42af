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

