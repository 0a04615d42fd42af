//! Whole answers that are given again: `app.cached`.
//!
//! The guard finds the kept answer of a request, or has its answer kept. `key` says which requests are answered alike,
//! and `fitness` which answers may be given to others than the client that they were made for.

mod fitness;
mod guard;
mod key;
mod options;

pub(crate) use guard::CachedAnswer;

use sampan_host::{FunctionKind, MIDDLEWARE, Module, Type, param, row};

/// The function of `app`.
pub(crate) static MODULE: Module = Module {
    name: "app",
    doc: "Answers that are kept: `app.use(pattern, app.cached{...})`.",
    functions: &[row!("cached"(
                param!("options": Type::Map,
                    "`seconds`: how long an answer is given again. `query`: the parameters of the query that count, \
                     all unless given; `{}` for none. `vary`: the header fields of requests that answers depend on. \
                     `ignore_cookies`: the names of cookies that no answer depends on."),
            ) -> Type::Object(&MIDDLEWARE), FunctionKind::Sync(guard::cached),
            "Gives the answer to a GET request again to all who ask the same, without calling a handler, and with \
             `Age`. One request makes it for all who ask meanwhile, on all workers. Requests with `Authorization`, a \
             cookie or a client's certificate are not answered so. Answers are kept whose status is 200, 301 or 404, \
             and not those that set a cookie, have `Cache-Control` with `private`, `no-store` or `no-cache`, depend \
             on other header fields by `Vary`, read a session, or are streams or files. Other ready middleware of \
             its paths stands before it, that of the script behind it.")],
    ..Module::EMPTY
};
