//! Values that an answer refuses to write as JSON, since `JSON.stringify` would write `{}`: the name of each, and the
//! advice.

use sampan_host::json;

/// A name and advice.
pub type Refused = [&'static str; 2];

/// A promise.
pub const PROMISE: Refused = ["a promise", "is an await missing?"];
/// A `Map`.
pub const MAP: Refused = ["a Map", "write Object.fromEntries(map)"];
/// A `Set`.
pub const SET: Refused = ["a Set", "write [...set]"];
/// An `Error`.
pub const ERROR: Refused = ["an Error", "throw the error, or write { error: e.message }"];
/// An `ArrayBuffer` or a view of one.
pub const BYTES: Refused = [
    "a buffer of bytes",
    "return it by itself, or encode it as text",
];
/// A `Blob`.
pub const BLOB: Refused = ["a Blob", "return it by itself, or write await blob.text()"];
/// A `ReadableStream`.
pub const STREAM: Refused = ["a ReadableStream", "return it by itself"];
/// A `Response`.
pub const RESPONSE: Refused = ["a Response", "return it by itself"];
/// A `FormData`, `Headers` or `URLSearchParams`.
pub const PAIRS: Refused = [
    "an object that lists pairs",
    "write Object.fromEntries(object)",
];

/// All of them, by short names.
pub const ALL: &[(&str, Refused)] = &[
    ("promise", PROMISE),
    ("map", MAP),
    ("set", SET),
    ("error", ERROR),
    ("bytes", BYTES),
    ("blob", BLOB),
    ("stream", STREAM),
    ("response", RESPONSE),
    ("pairs", PAIRS),
    ("request", json::REQUEST),
    ("object", json::OBJECT),
];
