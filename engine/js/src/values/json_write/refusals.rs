//! The values refused by JSON, and the advice for scripts.

use super::Key;
use crate::values::inspect::{is_regexp, web_kind};
use crate::values::objects;
use crate::values::value::is_bytes;
use crate::vm::sys::{Cx, Failure, RawValue, Thrown, class_id, is_object, is_promise, tag};
use rquickjs::qjs;
use sampan_host::{Error, json as host_json};
use sampan_js_contract::refused::{self, Refused};

/// Returns the name and advice for an object that `JSON.stringify` would write as `{}`, which is hardly ever meant.
#[cold]
pub(super) fn refused(cx: Cx<'_>, value: RawValue<'_>) -> Result<Option<Refused>, Thrown> {
    // SAFETY: something else holds the value for the lifetime of the `RawValue`; these only read its class.
    let (is_map, is_set, is_error) = unsafe {
        (
            qjs::JS_IsMap(value.js()),
            qjs::JS_IsSet(value.js()),
            qjs::JS_IsError(value.js()),
        )
    };
    Ok(if is_promise(value) {
        Some(refused::PROMISE)
    } else if is_map {
        Some(refused::MAP)
    } else if is_set {
        Some(refused::SET)
    } else if is_error {
        Some(refused::ERROR)
    } else if is_bytes(value) {
        Some(refused::BYTES)
    } else if class_id(value) == cx.core().classes.request {
        Some(host_json::REQUEST)
    } else if objects::at(cx, value).is_some() {
        Some(host_json::OBJECT)
    } else if is_regexp(value) {
        Some(refused::REGEXP)
    } else if let Some(refused) = unlisted(cx, value) {
        Some(refused)
    } else {
        web_class(cx, value)?
    })
}

/// Returns the name and advice for a generator, another iterator, a `WeakMap` or a `WeakSet`.
fn unlisted(cx: Cx<'_>, value: RawValue<'_>) -> Option<Refused> {
    let (class, classes) = (class_id(value), &cx.core().classes);
    if class == classes.generator {
        Some(refused::GENERATOR)
    } else if class == classes.async_generator {
        Some(refused::ASYNC_GENERATOR)
    } else if classes.iterators.contains(&class) {
        Some(refused::ITERATOR)
    } else {
        let is_weak = classes.weak.contains(&class);
        is_weak.then_some(refused::WEAK)
    }
}

/// Returns the name and advice for the classes of the Web surface.
pub(super) fn web_class(cx: Cx<'_>, value: RawValue<'_>) -> Result<Option<Refused>, Thrown> {
    let Some(kind) = web_kind(cx, value)? else {
        return Ok(None);
    };
    Ok(match cx.text(kind.raw())?.as_str() {
        "Blob" | "File" => Some(refused::BLOB),
        "ReadableStream" => Some(refused::STREAM),
        "Response" => Some(refused::RESPONSE),
        "FormData" | "Headers" | "URLSearchParams" => Some(refused::PAIRS),
        _ => None,
    })
}

/// Returns the error for a value without JSON, with the name under which it stands.
#[cold]
pub(super) fn refuse(cx: Cx<'_>, key: Key, [what, advice]: [&str; 2]) -> Failure {
    let place = match key {
        Key::None => Ok(String::new()),
        Key::Name(atom) => cx.name(atom).and_then(|name| cx.text(name.raw())),
        Key::Index(index) => Ok(index.to_string()),
    };
    let error = host_json::no_json_but(what, advice);
    match place {
        Ok(place) if place.is_empty() => error.into(),
        Ok(place) => Error::script(format!("'{place}': {}", error.message())).into(),
        Err(thrown) => thrown.into(),
    }
}

/// Returns the name of a value without JSON, with its article.
#[cold]
pub(crate) fn found(cx: Cx<'_>, value: RawValue<'_>) -> &'static str {
    if cx.is_function(value) {
        "a function"
    } else if is_object(value) {
        "an object whose toJSON gives nothing"
    } else if tag(value) == qjs::JS_TAG_UNDEFINED {
        "undefined"
    } else {
        "a symbol"
    }
}
