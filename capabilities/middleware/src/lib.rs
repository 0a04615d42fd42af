//! Ready middleware: what a site needs around its handlers, checked in Rust before any script runs.
//!
//! Each function makes a native object that `app.use` takes. [`Csrf`] is not a function: `app` puts it around every
//! project.

mod allow_ips;
mod auth;
mod capability;
mod cors;
mod csp_nonce;
mod csrf;
mod idempotency;
mod limits;
mod options;
mod origin;
mod rate_limit;
mod rate_server;
mod rate_table;
mod secure_headers;
mod settings;

pub use capability::CAPABILITY;
pub use csrf::Csrf;
pub use rate_limit::RateLimits;
pub use rate_table::RateTable;
pub use settings::SECTION;

use sampan_host::{Function, FunctionKind, MIDDLEWARE, Module, Param, Type, param, row};

/// The functions of `app` that make middleware.
pub static MODULE: Module = Module {
    name: "app",
    doc: "Ready middleware: `app.use(pattern, app.cors{...})`.",
    functions: &[
        Function {
            name: "cors",
            params: &[Param {
                name: "options",
                ty: Type::InPlace,
                optional: false,
                doc: "`origins`: `\"*\"` or a list such as `\"https://app.example\"`. `methods`: those that a script \
                 of another site may use \
                      (GET, HEAD, POST, PUT, PATCH and DELETE unless given). `headers`: the header fields that it may \
                       send (`content-type` \
                      unless given). `expose`: those of the answer that it may read. `credentials`: whether the \
                       browser sends cookies. `max_age`: \
                      for how many seconds it may remember the permission.",
            }],
            returns: Type::Object(&MIDDLEWARE),
            doc: "Lets scripts of other sites call these paths. Answers preflight requests itself. It does not open \
             the protection against \
                  requests of other sites, see `[csrf]`.",
            kind: FunctionKind::Reading(cors::cors),
        },
        row!("rate_limit"(
                param!("options": Type::InPlace,
                    "`limit` requests in `per` seconds. `key`: what is counted together. `\"ip\"` (unless given): the \
                     client's address, of IPv6 its /64. The name of a header field: its value, or the address where it \
                     is missing. A function: what it returns for the request; it may wait, and what it returns nothing \
                     for is not counted. `name`: what the fields of the answer call the limit (`default` unless \
                     given). `shared`: all processes on one PostgreSQL server count together; not with a function as \
                     the key."),
            ) -> Type::Object(&MIDDLEWARE), FunctionKind::Reading(rate_limit::rate_limit),
            "Refuses with 429 what is above the limit, with `Retry-After`. The window slides. All workers count \
             together. The fields `RateLimit` and `RateLimit-Policy` say what is left. With a function as its key it \
             runs among the script's own middleware, in its order."),
        row!("basic_auth"(
                param!("options": Type::InPlace,
                    "`verify`: a function that is called with user, password and request, and may wait. What it \
                     returns is `req.auth`; nothing, `false`, 0, NaN and an empty text refuse. Or `users`: passwords \
                     by user; then `req.auth` is the user. `realm`: what the browser shows."),
            ) -> Type::Object(&MIDDLEWARE), FunctionKind::Reading(auth::basic_auth),
            "Lets only people in who know a password (RFC 7617): 401 for all others. With `verify` it runs among the \
             script's own middleware, in its order."),
        row!("bearer_auth"(
                param!("options": Type::InPlace,
                    "`verify`: a function that is called with the token and the request, and may wait. What it returns \
                     is `req.auth`; nothing, `false`, 0, NaN and an empty text refuse. Or `tokens`: tokens by name; \
                     then `req.auth` is the name. `realm`: what the answer calls the site."),
            ) -> Type::Object(&MIDDLEWARE), FunctionKind::Reading(auth::bearer_auth),
            "Lets only requests in that have a token (RFC 6750): 401 for all others. With `verify` it runs among the \
             script's own middleware, in its order."),
        row!("idempotency"(
                param!("options": Type::InPlace,
                    "`user`: a function that is called with each request of these paths, and may wait. What it returns \
                     says who asks: text or a whole number; only this user gets the answer again. `hours`: how long an \
                     answer is given again (24 unless given). `required`: whether POST, PATCH, PUT and DELETE need a \
                     key (false unless given)."),
            ) -> Type::Object(&MIDDLEWARE), FunctionKind::Reading(idempotency::idempotency),
            "Gives the answer to the first POST, PATCH, PUT or DELETE with an `Idempotency-Key` again to each \
             repetition by the same user, with `Idempotent-Replayed: true` and without calling a handler. It is \
             recorded in the app's database together with what the handler has written last. Another request with \
             the same key is refused with 422, and one while the first still runs with 409. It runs among the \
             script's own middleware, in its order. It works with SQLite."),
        row!("allow_ips"(
                param!("options": Type::InPlace,
                    "`networks`: addresses and networks such as `\"10.0.0.0/8\"`; `\"unix:\"` stands for all clients \
                     over a Unix socket."),
            ) -> Type::Object(&MIDDLEWARE), FunctionKind::Reading(allow_ips::allow_ips),
            "Admits only clients whose addresses are in these networks: 403 for all others. The address is that of \
             `req.ip`: behind a proxy set `trusted_proxies`, and let the proxy send `X-Forwarded-For`. Where only the \
             proxy is known, the answer is 403 too."),
        Function {
            name: "secure_headers",
            params: &[Param {
                name: "options",
                ty: Type::InPlace,
                optional: true,
                doc: "`csp`: a `Content-Security-Policy`; `{nonce}` in it stands for a random value of each request, \
                 `req.csp_nonce`. `frame_ancestors`: who may show the page in a frame, \
                 `\"none\"` (unless given), `\"self\"` \
                      or sources such as `\"https://app.example\"`; `false` for all sites. `referrer_policy`: \
                       `strict-origin-when-cross-origin` \
                      unless given, `false` for none. `hsts`: for how many seconds browsers come back by HTTPS only \
                       (a year unless given), \
                      `false` for none; sent only over HTTPS.",
            }],
            returns: Type::Object(&MIDDLEWARE),
            doc: "Adds header fields that make browsers more careful: `X-Content-Type-Options: nosniff` and those of \
             the options. A field that \
                  the answer has already stays as it is.",
            kind: FunctionKind::Reading(secure_headers::secure_headers),
        },
    ],
    classes: &[&MIDDLEWARE],
    request_fields: &[
        row!("auth"() -> Type::Any, FunctionKind::Sync(auth::who),
            "Who was let in by `app.basic_auth` or `app.bearer_auth`: what `verify` returned, or a name."),
        row!("csp_nonce"() -> Type::TextOrNothing, FunctionKind::Sync(csp_nonce::field),
            "The nonce in the `Content-Security-Policy` of this request, for the attribute `nonce` of its scripts and \
             styles. Nothing where no `csp` of `app.secure_headers` has `{nonce}`."),
    ],
    ..Module::EMPTY
};
