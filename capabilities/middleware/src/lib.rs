//! Ready middleware: what a site needs around its handlers, checked in Rust before any script runs.
//!
//! Each function makes a native object that `app.use` takes. [`Csrf`] is no function: `app` puts it around every project.

mod cors;
mod csrf;
mod options;
mod origin;
mod secure_headers;

pub use csrf::Csrf;

use sampan_host::{
    Class, Context, Function, FunctionKind, Guard, Lifetime, Module, NativeMiddleware, Param, Type,
    Value,
};
use std::rc::Rc;

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
                doc: "`origins`: `\"*\"` or a list such as `\"https://app.example\"`. `methods`: those that a script of another site may use \
                      (GET, HEAD, POST, PUT, PATCH and DELETE unless given). `headers`: the header fields that it may send (`content-type` \
                      unless given). `expose`: those of the answer that it may read. `credentials`: whether the browser sends cookies. `max_age`: \
                      for how many seconds it may remember the permission.",
            }],
            returns: Type::Object(&MIDDLEWARE),
            doc: "Lets scripts of other sites call these paths. Answers preflight requests itself. It does not open the protection against \
                  requests of other sites, see `[csrf]`.",
            kind: FunctionKind::Reading(cors::cors),
        },
        Function {
            name: "secure_headers",
            params: &[Param {
                name: "options",
                ty: Type::InPlace,
                optional: true,
                doc: "`csp`: a `Content-Security-Policy`. `frame_ancestors`: who may show the page in a frame, `\"none\"` (unless given), `\"self\"` \
                      or sources such as `\"https://app.example\"`; `false` for everybody. `referrer_policy`: `strict-origin-when-cross-origin` \
                      unless given, `false` for none. `hsts`: for how many seconds browsers come back by HTTPS only (a year unless given), \
                      `false` for none; sent only over HTTPS.",
            }],
            returns: Type::Object(&MIDDLEWARE),
            doc: "Adds header fields that make browsers more careful: `X-Content-Type-Options: nosniff` and those of the options. A field that \
                  the answer has already stays as it is.",
            kind: FunctionKind::Reading(secure_headers::secure_headers),
        },
    ],
    classes: &[&MIDDLEWARE],
    ..Module::EMPTY
};

/// What the functions make.
static MIDDLEWARE: Class = Class {
    name: "NativeMiddleware",
    variable: "middleware",
    doc: "Ready middleware, for `app.use`.",
    methods: &[],
    lifetime: Lifetime::Collector,
    is_keyed: false,
};

/// A guard as a script gets it.
fn guard(context: &Context, guard: impl Guard + 'static) -> Value {
    let native = NativeMiddleware::Guard(Rc::new(guard));
    Value::Object(context.objects().add(&MIDDLEWARE, native))
}
