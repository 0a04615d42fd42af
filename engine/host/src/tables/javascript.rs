//! The words of JavaScript, common to both engines: the words of the language, and why a call is refused.

use super::names::camel_case;
use crate::error::{Error, ErrorKind};
use crate::tables::objects::Class;
use crate::tables::words::Words;

/// The names in JavaScript.
pub const WORDS: Words = Words {
    map: "an object",
    list: "an array",
    method: ".",
    spell: camel_case,
    fetch: "fetch",
};

/// The error of a function that took too long to wait for it in place, with what to call instead: `awaited` of the same
/// module.
#[cold]
pub fn with_advice(error: Error, name: &str, module: &str, awaited: Option<&str>) -> Error {
    let Some(awaited) = awaited.filter(|_| error.kind() == ErrorKind::TooLong) else {
        return error;
    };
    let said = error.message();
    let text = format!("{said} ({name}: await {module}.{})", camel_case(awaited));
    error.with_message(text)
}

/// A method was called on something else than an object of its class.
#[cold]
pub fn wrong_receiver(name: &str, class: &Class) -> Error {
    Error::script(format!("{name}: call it on {}", class.with_article()))
}

/// A template tag was called as a function.
#[cold]
pub fn not_a_tag(name: &str) -> Error {
    Error::script(format!(
        "{name} is a template tag: {name}`... ${{value}} ...`"
    ))
}

/// A bracket was called without the function that its last argument is.
#[cold]
pub fn no_function(name: &str, found: &str) -> Error {
    Error::script(format!(
        "{name}: the last argument must be a function, not {found}"
    ))
}

/// A bracket that waits would not be a part of the one that is open: it begins when that has ended.
#[cold]
pub fn cannot_wait_inside(name: &str, open: &str) -> Error {
    Error::script(format!("{name}: cannot wait inside {open}"))
}

/// A bracket that does not wait was given a function of a kind that does, such as "an async function".
#[cold]
pub fn waiting_function(name: &str, kind: &str) -> Error {
    Error::script(format!(
        "{name} takes a plain function, not {kind}: await what you need before {name}"
    ))
}

/// The function of a bracket that does not wait returned something whose work is not done, such as "a promise".
#[cold]
pub fn unfinished(name: &str, what: &str) -> Error {
    Error::script(format!(
        "{name}: the function returned {what}, so {name} failed: await what you need before {name}, and return a \
         plain value"
    ))
}
