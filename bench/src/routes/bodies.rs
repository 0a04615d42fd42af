//! The routes of examples/bench_bodies: bodies in and out, and header fields.

use std::fmt::Write;

use serde_json::json;

use super::{ExpectedAnswer, RouteExchange, get, post};

/// The characters of the texts.
const DIGITS: &str = "0123456789";

/// A text of so many bytes.
pub(crate) fn digits(bytes: usize) -> String {
    DIGITS.repeat(bytes / DIGITS.len())
}

/// Text with twenty header fields.
pub(super) fn headers() -> RouteExchange {
    let field = |at| (format!("x-field-{at}"), format!("the value of field {at}"));
    let expected = ExpectedAnswer::Text {
        body: "ok".to_owned(),
        fields: (1..=20).map(field).collect(),
    };
    get("/headers", expected)
}

/// A text of so many bytes, whose length is asked for.
pub(super) fn length(bytes: usize) -> RouteExchange {
    let text = digits(bytes);
    let expected = json!({ "length": text.len() });
    post("/length", text, ExpectedAnswer::Json(expected))
}

/// A text of 4 characters: JavaScript counts the last one twice, Lua counts bytes, and it is not mistaken for ASCII.
pub(super) fn wide_length() -> RouteExchange {
    let is_right = |found: &serde_json::Value| {
        [5, 10]
            .map(|length| json!({ "length": length }))
            .contains(found)
    };
    post("/length", "aé€🛶", ExpectedAnswer::Fits(is_right))
}

/// JSON of at least so many bytes: a list of objects of five fields.
pub(super) fn count(bytes: usize) -> RouteExchange {
    let (mut text, mut count) = ("[".to_owned(), 0);
    while text.len() < bytes {
        let comma = if count == 0 { "" } else { "," };
        count += 1;
        let _ = write!(
            text,
            r#"{comma}{{"id":{count},"name":"User {count}","email":"user{count}@example.com","active":{},"score":{}.5}}"#,
            count % 2 == 0,
            count % 100
        );
    }
    text.push(']');
    let expected = json!({ "count": count, "last": count });
    post("/count", text, ExpectedAnswer::Json(expected))
}

/// A string of so many bytes as the answer.
pub(super) fn text(path: &str, bytes: usize) -> RouteExchange {
    let expected = ExpectedAnswer::Text {
        body: digits(bytes),
        fields: Vec::new(),
    };
    get(path, expected)
}
