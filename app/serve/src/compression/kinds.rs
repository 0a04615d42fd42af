//! The answers that are compressed: texts that are not encoded yet, and that may be changed on the way.

use sampan_http::Response;
use sampan_project::media::is_text;

/// The header fields that matter for compression.
#[derive(Default)]
pub(super) struct Fields {
    /// True if `Vary` names `Accept-Encoding` already, or everything.
    pub(super) vary: bool,
    /// The strong `ETag` of the answer.
    pub(super) strong_tag: Option<Vec<u8>>,
}

/// Reports whether an answer may be compressed, and what it has.
pub(super) fn compressible(response: &Response) -> Option<Fields> {
    // A part of a body is counted in bytes of the plain one.
    if response.status() == 206 {
        return None;
    }
    let mut fields = Fields::default();
    let mut content_type = response.default_content_type().map(str::as_bytes);
    for (name, value) in response.headers() {
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        let must_stay = is("cache-control") && has_item(value, "no-transform");
        // Ranges count in bytes of the plain body: files, which have encoded forms of their own.
        let has_ranges = is("accept-ranges") && !has_item(value, "none");
        if must_stay || has_ranges || is("content-encoding") || is("content-range") {
            return None;
        } else if is("content-type") {
            content_type = Some(value);
        } else if is("vary") {
            fields.vary |= has_item(value, "accept-encoding") || has_item(value, "*");
        } else if is("etag") && value.starts_with(b"\"") {
            fields.strong_tag = Some(value.to_vec());
        }
    }
    content_type.is_some_and(is_text).then_some(fields)
}

/// Reports whether a list of a header field has this item.
fn has_item(list: &[u8], wanted: &str) -> bool {
    let mut items = list.split(|byte| *byte == b',');
    items.any(|item| item.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_forbid_it_or_are_kept() {
        let with = |name: &str, value: &str| {
            let mut response = Response::new(200);
            response.content_type("text/html");
            response
                .header(name.as_bytes(), value.as_bytes())
                .expect("valid");
            compressible(&response)
        };
        for (name, value) in [
            ("Content-Encoding", "gzip"),
            ("content-encoding", "identity"),
            ("Content-Range", "bytes 0-1/2"),
            ("Accept-Ranges", "bytes"),
            ("Cache-Control", "public, No-Transform"),
            ("Content-Type", "image/png"),
        ] {
            assert!(with(name, value).is_none(), "{name}: {value}");
        }
        assert!(with("Vary", "Origin, accept-encoding").is_some_and(|fields| fields.vary));
        assert!(with("Vary", "*").is_some_and(|fields| fields.vary));
        assert!(with("Vary", "Origin").is_some_and(|fields| !fields.vary));
        assert!(with("ETag", "\"1\"").is_some_and(|fields| fields.strong_tag.is_some()));
        assert!(with("ETag", "W/\"1\"").is_some_and(|fields| fields.strong_tag.is_none()));
    }
}
