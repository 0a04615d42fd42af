//! The Web surface of the JavaScript engine: what fetch-style frameworks expect to find on the global object.
//!
//! Each `*.js` file here and in the folders below is one function `(web) => exports`, embedded in the executable and
//! compiled when one of its globals is touched first; only `boot.js` runs at start. What JavaScript cannot do well
//! (parsing URLs, text encodings, digests, multipart bodies) is native, one module per subject. `DOMException`, `atob`,
//! `btoa`,
//! `queueMicrotask` and `performance` are QuickJS-ng's own, so [`install`] wants a context with all intrinsics.
//!
//! # Engine contract
//!
//! **Before [`install`]** the engine puts these functions on the global object; `boot.js` takes them and removes them:
//!
//! - `__host_log(level, text)`: one line for the log; `level` is `debug`, `info`, `warn` or `error`.
//! - `__host_report(error)`: an uncaught error, for the log.
//! - `__host_sleep(ms, id)`: a promise that fulfils after `ms` milliseconds. `id` is a number that no other sleep of
//!   this isolate has while it runs, except that an interval sleeps again under its own.
//! - `__host_cancel(id)`: that sleep is of no use any more and may be dropped; its promise need never settle. Sleeps
//!   that the engine gives up by itself (its request has ended) need no word: their timers go with their promises.
//! - `__host_hidden(name)`: the hidden key of that name, the same each time: a symbol under which a property is kept
//!   that `Reflect.ownKeys` and the like do not list.
//!
//! **After [`install`]** `globalThis[Symbol.for("sampan.web")]` is a frozen object, which the engine takes and deletes:
//!
//! - `requestPrototype`, `responsePrototype`, `headersPrototype`: `Request.prototype` and so on. They exist before
//!   their files are loaded (their members are lazy), so a native class can inherit from them at no cost.
//! - `open(stream)`: locks a body stream for the engine's writer. It throws where the script has locked or partly read
//!   it. It gives a function, which gives the next chunk each time: a `Uint8Array`, or `null` at the end, or a promise
//!   of that. That throws or rejects where the stream fails or gives something that is not a `Uint8Array`.
//! - `bodyStream(request)`: a stream of what a native request's `read` gives.
//! - `asBody(value)`: `[content, type]` of a `Blob` or `ReadableStream`, as a `Response` would keep them (`type` may be
//!   `null`);
//!   `undefined` for any other value.
//! - `cancel(stream, reason)`: the rest of this stream will not be read. `abort(signal, reason)`: aborts a request's
//!   signal.
//! - `useClient(rows)`: the functions of the module that sends requests to other servers (`Module::sends_requests`),
//!   of which `fetch` is made. Without them it is an error.
//!
//! **Hidden keys** hold what native code reads without a getter:
//!
//! - A `Headers` has `list`: an array `[name, value, name, value, ...]`, names in lower case, in the order in which
//!   they were set, equal names not combined. A character of a value is one byte (U+0000 to U+00FF). Native code may
//!   make one: an object whose prototype is `headersPrototype` with an own `list` (or an accessor of that name on its
//!   prototype). A proxy can show a script the key, so the writer checks names and values again.
//! - A `Response` has the own properties `status` (an integer from 200 to 599; 0 for `Response.error()`, which is no
//!   answer), `statusText` (a string; `null` where the script chose no status), `headers` (a `Headers`), `body` and
//!   `used` (a boolean; true: the script has read the body, so it cannot be sent). `body` is a string without lone
//!   surrogates (its bytes are its UTF-8), a `Uint8Array`, a `ReadableStream` or `null`. The default Content-Type is in
//!   the list already; Content-Length never is.
//! - A `ReadableStream` body may have an own `source` that is not `undefined`: a string or a `Uint8Array` with its
//!   whole content, of which nothing has been read. Then that can be sent as if it were the body. Other streams go
//!   through `next`.
//! - The prototype of each class has `kind`, its name, by which values that have no JSON are told.
//! - A `Request` made by a script has the own properties `method`, `url`, `headers`, `body`, `used` and, once a script
//!   asked for it, `signal`. A clone of a native request has `incoming` too (`true`): its body is what the client sent.
//!
//! **Native requests** inherit from `requestPrototype` and have, on their own prototype or themselves: getters
//! `method`,
//! `url` (absolute) and `headers` (a `Headers`); a getter `used` (a boolean, never `undefined`); a
//! getter `body` that is `null` for a request without body and `undefined` otherwise; and a method
//! `take`, all three under hidden keys, that hands the content out once, as string, `Uint8Array` (then no longer the
//! engine's) or
//! `null`, or a promise of that, or a stream, and throws the second time. A content that is read as it comes is the
//! stream that
//! `bodyStream(request)` makes; it asks the hidden method `read` for each chunk, a promise of a `Uint8Array`, or of
//! `null` at the end. `clone()`, `body` and `new Request(native)` take the content and keep it in own properties `body`
//! and `used` of the object, so native `text()`, `json()` and `bytes()` that find the content taken call the methods of
//! `requestPrototype`, which know both. The engine aborts the request when the client goes away by `abort` on the own
//! property `signal`, if there is one.

// The rest of this crate calls QuickJS directly; nothing here needs to.
#![forbid(unsafe_code)]

mod bytes;
mod crypto;
mod encoding;
mod form;
mod headers;
mod url;

#[cfg(test)]
mod tests;

use crate::vm::sys::own_function;
use rquickjs::{Ctx, Exception, Function, Object, Result, Value};

/// The files of the Web surface by the name under which `boot.js` asks for them.
const SOURCES: &[(&str, &str)] = &[
    ("abort", include_str!("events/abort.js")),
    ("blob", include_str!("fetch/blob.js")),
    ("body", include_str!("fetch/body.js")),
    ("clone", include_str!("clone.js")),
    ("console", include_str!("console.js")),
    ("crypto", include_str!("crypto.js")),
    ("encoding", include_str!("encoding.js")),
    (
        "encoding_streams",
        include_str!("streams/encoding_streams.js"),
    ),
    ("events", include_str!("events/events.js")),
    ("fetch", include_str!("fetch/fetch.js")),
    ("formdata", include_str!("fetch/formdata.js")),
    ("headers", include_str!("fetch/headers.js")),
    ("inspect", include_str!("inspect.js")),
    ("readable", include_str!("streams/readable.js")),
    ("request", include_str!("fetch/request.js")),
    ("response", include_str!("fetch/response.js")),
    ("stream_bodies", include_str!("streams/stream_bodies.js")),
    ("stream_tools", include_str!("streams/stream_tools.js")),
    ("timers", include_str!("events/timers.js")),
    ("transform", include_str!("streams/transform.js")),
    ("url", include_str!("url.js")),
    ("writable", include_str!("streams/writable.js")),
];

/// Puts the Web surface on the global object of a context with all intrinsics.
///
/// # Errors
///
/// An exception is pending where one of the engine's hooks is missing (see the module's contract).
pub(crate) fn install(ctx: &Ctx<'_>) -> Result<()> {
    let boot: Function<'_> = evaluate(ctx, "boot", include_str!("boot.js"))?;
    let compile = Function::new(ctx.clone(), compile)?;
    let natives = Function::new(ctx.clone(), natives)?;
    boot.call((compile, natives, env!("CARGO_PKG_VERSION")))
}

fn evaluate<'js>(ctx: &Ctx<'js>, name: &str, source: &'static str) -> Result<Function<'js>> {
    own_function(ctx, source, &format!("sampan:web/{name}.js"))
}

/// The function of one file.
fn compile<'js>(ctx: Ctx<'js>, name: String) -> Result<Function<'js>> {
    match SOURCES.iter().find(|(known, _)| *known == name) {
        Some((_, source)) => evaluate(&ctx, &name, source),
        None => Err(Exception::throw_internal(
            &ctx,
            &format!("no Web file {name}"),
        )),
    }
}

/// The native functions of one subject, made when a file asks for them.
fn natives<'js>(ctx: Ctx<'js>, subject: String) -> Result<Object<'js>> {
    let table = Object::new(ctx.clone())?;
    match subject.as_str() {
        "clone" => table.set("isProxy", Function::new(ctx.clone(), is_proxy)?)?,
        "crypto" => crypto::register(&table)?,
        "encoding" => encoding::register(&table)?,
        "form" => form::register(&table)?,
        "headers" => headers::register(&table)?,
        "incoming" => crate::request::body::register(&ctx, &table)?,
        "streams" => crate::streams::register(&ctx, &table)?,
        "url" => url::register(&table)?,
        _ => {
            return Err(Exception::throw_internal(
                &ctx,
                &format!("no native subject {subject}"),
            ));
        }
    }
    Ok(table)
}

fn is_proxy(value: Value<'_>) -> bool {
    value.is_proxy()
}
