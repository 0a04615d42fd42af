//! The refusals of builders and declarations, in one wording for both languages.

use crate::error::{Error, Place};
use crate::tables::words::Words;

/// Returns the error for a wrong type: `wanted` is `string`, `function`, `boolean`, `map` or `options`, `found` what
/// was given, with
/// its article.
#[cold]
pub fn wrong_type(words: &Words, what: &str, wanted: &str, found: &str) -> Error {
    let wanted = match wanted {
        "map" => words.map.to_owned(),
        "options" => format!("a status or {}", words.map),
        _ => format!("a {wanted}"),
    };
    Error::script(format!("the {what} must be {wanted}, not {found}"))
}

/// Returns the error for an option that does not exist.
#[cold]
pub fn unknown_option(name: &str, known: &[&str]) -> Error {
    let all = match known {
        [only] => format!("the only option is {only}"),
        _ => format!("the options are {}", known.join(", ")),
    };
    let names = known.iter().copied().chain([name]);
    Error::script(format!("unknown option '{name}'; {all}")).naming(names)
}

/// Checks how the pattern of a route, of middleware or of a group begins.
///
/// # Errors
/// Anything but a slash.
pub fn check_pattern(pattern: &str) -> Result<(), Error> {
    if pattern.starts_with('/') {
        return Ok(());
    }
    Err(Error::script(format!(
        "the pattern must begin with '/', like \"/users/:id\", not {pattern:?}"
    )))
}

/// Returns the error for a declaration in a handler: `what` is declared too late.
#[cold]
pub fn too_late(what: &str) -> Error {
    Error::script(format!(
        "{what} are declared while the project loads, not in a handler"
    ))
}

/// Returns the error for a second declaration of a thing that there is once. `place` is that of the first.
#[cold]
pub fn declared_twice(place: Option<&Place>) -> Error {
    Error::script(match place {
        Some(place) => format!("it is already declared at {place}"),
        None => "it is already declared".to_owned(),
    })
}

/// Returns the error for a header name that is not a token (RFC 9110 section 5.6.2).
#[cold]
pub fn header_name(name: &str) -> Error {
    Error::script(format!(
        "invalid header name {name:?}: it must be a token such as X-Name"
    ))
}

/// Returns the error for a header value that cannot be sent (RFC 9110 section 5.5).
#[cold]
pub fn header_value(name: &str) -> Error {
    Error::script(format!(
        "invalid value for header {name:?}: control characters such as line ends, and those above U+00FF, are not \
         allowed"
    ))
}
