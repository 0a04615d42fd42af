//! Texts that stand inside of others: parts of URLs, and of HTML.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use sampan_host::{Args, Error, Value};

/// All but the unreserved characters of RFC 3986 section 2.3.
pub(crate) const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

pub(crate) fn url_encode(mut args: Args) -> Result<Value, Error> {
    let bytes = args.bytes(0);
    Ok(Value::Text(percent_encode(&bytes, RESERVED).to_string()))
}

pub(crate) fn url_decode(mut args: Args) -> Result<Value, Error> {
    let text = args.text(0);
    let decoded = percent_decode_str(&text).decode_utf8_lossy();
    Ok(Value::Text(decoded.into_owned()))
}

pub(crate) fn html_escape(mut args: Args) -> Result<Value, Error> {
    let text = args.text(0);
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#x27;"),
            c => escaped.push(c),
        }
    }
    Ok(Value::Text(escaped))
}
