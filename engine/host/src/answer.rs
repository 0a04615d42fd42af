//! From what a handler returned to an answer: status, content type, and what is refused. Both engines ask here.

use crate::error::{Error, ErrorKind};
use crate::tables::words::Words;
use crate::value::Value;
use std::fmt::Write;

/// The content type of JSON.
pub const JSON: &str = "application/json";
/// The content type of a string that a handler returned.
pub const TEXT: &str = "text/plain; charset=utf-8";
/// The content type of the `html` builder.
pub const HTML: &str = "text/html; charset=utf-8";
/// The default content type of bytes and streams.
pub const BYTES: &str = "application/octet-stream";

/// The kind of a result, in terms of both languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerKind {
    /// `nil`, `null`, `undefined`: an answer without a body.
    Nothing,
    /// A string.
    Text,
    /// The result of the `html` builder.
    Html,
    /// A buffer of bytes, or a stream of them.
    Bytes,
    /// A value written as JSON.
    Json,
}

impl AnswerKind {
    /// The content type that is sent unless the script sets one.
    #[inline]
    pub fn content_type(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Text => Some(TEXT),
            Self::Html => Some(HTML),
            Self::Bytes => Some(BYTES),
            Self::Json => Some(JSON),
        }
    }

    /// The status that is sent unless the script sets one. `default` is 200, or that of the error that is answered.
    #[inline]
    pub fn status(self, default: u16) -> u16 {
        if self == Self::Nothing && default == 200 {
            204
        } else {
            default
        }
    }
}

/// The status that a script gave.
///
/// # Errors
/// Anything but a whole number from 200 to 599.
pub fn check_status(status: f64) -> Result<u16, Error> {
    if status.fract() == 0.0 && (200.0..600.0).contains(&status) {
        return Ok(status as u16);
    }
    Err(wrong_status(&status.to_string()))
}

/// Returns the error for any other status; `found` may be what it is instead of a number, with its article.
#[cold]
pub fn wrong_status(found: &str) -> Error {
    Error::script(format!(
        "the status must be a whole number from 200 to 599, not {found}"
    ))
}

/// Returns the error for the answer of another server whose status the handler passes on, and no client knows: RFC 9110
/// section 15 has statuses up to 599. As of a gateway that cannot use an answer, it is 502.
#[cold]
pub fn foreign_status(status: f64) -> Error {
    let text = format!(
        "another server answered with the status {status}, which cannot be passed on: the statuses are 200 to 599"
    );
    Error::new(ErrorKind::Status(502), text)
}

/// The status of a redirection.
///
/// # Errors
/// Statuses that no `Location` belongs to.
pub fn check_redirect(status: f64) -> Result<u16, Error> {
    const STATUSES: [u16; 6] = [300, 301, 302, 303, 307, 308];
    let found = STATUSES.iter().find(|known| f64::from(**known) == status);
    found
        .copied()
        .ok_or_else(|| wrong_redirect(&status.to_string()))
}

/// Returns the error for any other status of a redirection.
#[cold]
pub fn wrong_redirect(found: &str) -> Error {
    Error::script(format!(
        "the status must be 300, 301, 302, 303, 307 or 308, not {found}"
    ))
}

/// The value of a `Location` field: what cannot stand in a URL is percent-encoded (RFC 3986 section 2), what is encoded
/// already stays as it is.
///
/// # Errors
/// Control bytes, which are no mistake of spelling.
pub fn location(url: &[u8]) -> Result<String, Error> {
    let mut out = String::with_capacity(url.len());
    for &byte in url {
        if byte < b' ' || byte == 0x7f {
            return Err(Error::script(
                "the location must not have control characters such as line ends",
            ));
        }
        if byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    Ok(out)
}

/// Returns the error for a result that is not an answer: `found` is what it is, with its article.
#[cold]
pub fn no_answer(words: &Words, found: &str) -> Error {
    Error::script(format!(
        "a handler returned {found}; it should return {}, a string, a response or nothing",
        words.map
    ))
}

/// The most field lines that one answer may have. Their bytes are limited by the HTTP engine.
pub const FIELDS_MAX: usize = 4096;

/// Returns the error for more fields.
#[cold]
pub fn too_many_fields() -> Error {
    Error::script(format!("an answer has at most {FIELDS_MAX} header fields"))
}

/// The content type of a text in a file of this name; plain text for unknown names.
pub fn type_of_file(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html" | "htm") => HTML,
        Some("xml") => "application/xml; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json") => JSON,
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("csv") => "text/csv; charset=utf-8",
        _ => TEXT,
    }
}

/// Returns the value for a row of [`Type::Answer`](crate::Type::Answer) gives: a body and its content type.
pub fn rendered(body: Vec<u8>, content_type: &str) -> Value {
    Value::List(vec![
        Value::Bytes(body),
        Value::Text(content_type.to_owned()),
    ])
}

/// The value of a `Content-Disposition` that has browsers save an answer as a file (RFC 6266): the name twice, because
/// old clients do not read `filename*`.
///
/// # Errors
/// An empty name, or one with control characters.
pub fn download(name: &str) -> Result<String, Error> {
    if name.is_empty() || name.contains(char::is_control) {
        return Err(Error::script(
            "the name must be that of a file, without line ends or other control characters",
        ));
    }
    // Quoted pairs and percent signs are read in different ways (RFC 6266 appendix D).
    let is_plain = |c: char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\' | '%' | '/');
    let plain: String = name
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    let mut value = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''");
    for byte in name.bytes() {
        // `attr-char` of RFC 8187 section 3.2.1.
        if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte) {
            value.push(char::from(byte));
        } else {
            let _ = write!(value, "%{byte:02X}");
        }
    }
    Ok(value)
}

/// Returns the value for a row of [`Type::Answer`](crate::Type::Answer) gives whose answer is a file: the file's path
/// for
/// [`ResponseSink::file`](crate::ResponseSink::file), its content type, and its `Content-Disposition`.
pub fn file(path: &str, content_type: &str, disposition: Option<&str>) -> Value {
    let disposition = disposition.map_or(Value::Bool(false), Value::from);
    Value::List(vec![path.into(), content_type.into(), disposition])
}

/// Returns the label of a status without a body.
pub fn label(status: u16) -> &'static str {
    match status {
        400 => "bad request",
        401 => "unauthorized",
        403 => "forbidden",
        404 => "not found",
        405 => "method not allowed",
        408 => "request timeout",
        409 => "conflict",
        413 => "body too large",
        414 => "target too long",
        415 => "unsupported media type",
        417 => "expectation failed",
        429 => "too many requests",
        431 => "header too large",
        501 => "not implemented",
        502 => "bad gateway",
        503 => "service unavailable",
        504 => "timeout",
        505 => "HTTP version not supported",
        402 | 406..=499 => "request refused",
        _ => "internal error",
    }
}

/// Appends the body of the server's own answer: `{"error": "..."}`, with a member `code` where clients may need it.
pub fn write_error(out: &mut Vec<u8>, message: &str, code: Option<&str>) {
    out.extend_from_slice(b"{\"error\":");
    crate::json::write_string(out, message.as_bytes());
    if let Some(code) = code {
        out.extend_from_slice(b",\"code\":");
        crate::json::write_string(out, code.as_bytes());
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_downloads_are_quoted_and_encoded() {
        for (name, expected) in [
            (
                "visits.csv",
                "attachment; filename=\"visits.csv\"; filename*=UTF-8''visits.csv",
            ),
            (
                "Größe 1.csv",
                "attachment; filename=\"Gr__e 1.csv\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%201.csv",
            ),
            (
                "a\"; x=\\%2F/b",
                "attachment; filename=\"a_; x=__2F_b\"; filename*=UTF-8''a%22%3B%20x%3D%5C%252F%2Fb",
            ),
        ] {
            assert_eq!(download(name).expect(name), expected);
        }
        for name in ["", "a\r\nSet-Cookie: b", "a\0", "a\u{85}"] {
            download(name).expect_err(name);
        }
    }

    #[test]
    fn a_status_is_a_whole_number_from_200_to_599() {
        for good in [200.0, 204.0, 599.0] {
            assert_eq!(check_status(good).map(f64::from).ok(), Some(good));
        }
        for bad in [199.0, 600.0, 1000.0, 200.5, -200.0, f64::NAN, f64::INFINITY] {
            assert!(check_status(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn nothing_is_204_unless_an_error_is_answered() {
        assert_eq!(AnswerKind::Nothing.status(200), 204);
        assert_eq!(AnswerKind::Nothing.status(404), 404);
        assert_eq!(AnswerKind::Json.status(200), 200);
    }

    #[test]
    fn a_location_is_a_url_and_has_no_line_ends() {
        assert_eq!(
            location("/größe x?a=%20".as_bytes()).ok().as_deref(),
            Some("/gr%C3%B6%C3%9Fe%20x?a=%20")
        );
        assert!(location(b"/a\r\nX-Evil: 1").is_err());
    }
}
