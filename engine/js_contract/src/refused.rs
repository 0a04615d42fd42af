//! Values that an answer refuses to write as JSON, since `JSON.stringify` would write `{}`, and values that cannot be
//! passed to a capability, since they would arrive as empty objects: the name of each, and the advice.

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
/// A regular expression.
pub const REGEXP: Refused = ["a RegExp", "write String(regexp)"];
/// A generator.
pub const GENERATOR: Refused = ["a generator", "write [...generator]"];
/// An async generator.
pub const ASYNC_GENERATOR: Refused = [
    "an async generator",
    "collect what it yields with for await",
];
/// Any other iterator.
pub const ITERATOR: Refused = ["an iterator", "write [...iterator]"];
/// A `WeakMap` or `WeakSet`.
pub const WEAK: Refused = ["a WeakMap or WeakSet", "write the values that are meant"];
/// A `FormData`, `Headers` or `URLSearchParams`.
pub const PAIRS: Refused = [
    "an object that lists pairs",
    "write Object.fromEntries(object)",
];

/// Those that an answer refuses, by short names.
pub const ALL: &[(&str, Refused)] = &[
    ("promise", PROMISE),
    ("map", MAP),
    ("set", SET),
    ("error", ERROR),
    ("bytes", BYTES),
    ("blob", BLOB),
    ("stream", STREAM),
    ("response", RESPONSE),
    ("regexp", REGEXP),
    ("generator", GENERATOR),
    ("asyncGenerator", ASYNC_GENERATOR),
    ("iterator", ITERATOR),
    ("weak", WEAK),
    ("pairs", PAIRS),
    ("request", json::REQUEST),
    ("object", json::OBJECT),
];

/// The classes whose objects hold no plain data, and the name and advice for one that is passed to a capability.
const UNPASSABLE: &[(&str, Refused)] = &[
    ("Map", ["a Map or Set", "use an object or an array"]),
    ("Set", ["a Map or Set", "use an object or an array"]),
    ("Error", ["an Error", "pass its message"]),
    ("RegExp", ["a RegExp", "pass its source"]),
    ("Request", ["a Request", "pass the fields that are meant"]),
    ("Response", ["a Response", "pass its status or its text"]),
    ("Headers", ["a Headers", "pass Object.fromEntries(headers)"]),
    (
        "URLSearchParams",
        ["a URLSearchParams", "pass Object.fromEntries(params)"],
    ),
    ("FormData", ["a FormData", "pass Object.fromEntries(form)"]),
    ("Blob", ["a Blob", "pass await blob.text()"]),
    ("File", ["a File", "pass await file.text()"]),
    ("ReadableStream", ["a ReadableStream", "read it first"]),
];

/// Returns the name and advice for an object of a class that cannot be passed to a capability; `None` for others.
pub fn unpassable(class: &str) -> Option<Refused> {
    let found = UNPASSABLE.iter().find(|(name, _)| *name == class);
    found.map(|(_, refused)| *refused)
}
