//! Conditional requests (RFC 9110 section 13).

use httpdate::parse_http_date;
use sampan_http::{Method, Request};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The validators of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Validators<'a> {
    /// The entity tag, with its quotes, and with `W/` in front if it is weak.
    pub(super) tag: &'a str,
    /// The time at which it was changed, in seconds since 1970; `None` where a script has said what is no date.
    pub(super) modified: Option<u64>,
}

/// The result of a request's conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConditionResult {
    /// Answer as without them.
    Send,
    /// 304: the client has it.
    NotModified,
    /// 412: it is not what the client expects.
    Failed,
}

/// Reports whether a request has any condition.
pub(super) fn has_any(request: &Request) -> bool {
    [
        "if-none-match",
        "if-modified-since",
        "if-match",
        "if-unmodified-since",
        "range",
    ]
    .iter()
    .any(|name| request.header(name).is_some())
}

/// Evaluates the conditions in the order of RFC 9110 section 13.2.2.
pub(super) fn verdict(request: &Request, file: Validators<'_>) -> ConditionResult {
    let since = |name| request.header(name).and_then(seconds);
    if request.header("if-match").is_some() {
        // Compared strongly: a weak tag matches nothing.
        if !lists(request, "if-match", |is_weak, tag| {
            !is_weak && tag == file.tag
        }) {
            return ConditionResult::Failed;
        }
    } else if let (Some(date), Some(modified)) = (since("if-unmodified-since"), file.modified)
        && modified > date
    {
        return ConditionResult::Failed;
    }
    let is_known = if request.header("if-none-match").is_some() {
        let opaque = file.tag.strip_prefix("W/").unwrap_or(file.tag);
        lists(request, "if-none-match", |_, tag| tag == opaque)
    } else {
        since("if-modified-since")
            .zip(file.modified)
            .is_some_and(|(date, modified)| modified <= date)
    };
    match (is_known, request.method()) {
        (false, _) => ConditionResult::Send,
        (true, Method::Get | Method::Head) => ConditionResult::NotModified,
        (true, _) => ConditionResult::Failed,
    }
}

/// Reports whether a `Range` counts: without `If-Range`, or where that names exactly this state of the file (RFC 9110
/// section 13.1.5).
pub(super) fn range_counts(request: &Request, file: Validators<'_>) -> bool {
    match request.header("if-range") {
        None => true,
        Some(field) if field.starts_with(b"\"") => field == file.tag.as_bytes(),
        Some(field) => seconds(field).is_some_and(|date| Some(date) == file.modified),
    }
}

/// A date, in seconds since 1970. An invalid one counts for nothing.
pub(super) fn seconds(field: &[u8]) -> Option<u64> {
    let date = parse_http_date(std::str::from_utf8(field).ok()?).ok()?;
    Some(date.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

/// The value of a `Last-Modified` field.
pub(super) fn date(seconds: u64) -> String {
    /// The last second that a date can tell: 9999-12-31T23:59:59.
    const SECONDS_MAX: u64 = 253_402_300_799;
    let since = Duration::from_secs(seconds.min(SECONDS_MAX));
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + since)
}

/// Reports whether a list of entity tags has one that matches. `*` matches what is there.
fn lists(request: &Request, name: &str, matches: impl Fn(bool, &str) -> bool) -> bool {
    let lines = request
        .headers()
        .filter(|(other, _)| other.eq_ignore_ascii_case(name));
    let texts = lines.filter_map(|(_, line)| std::str::from_utf8(line).ok());
    texts.into_iter().any(|mut left| {
        if left.trim() == "*" {
            return true;
        }
        loop {
            left = left.trim_start_matches([' ', '\t', ',']);
            let strong = left.strip_prefix("W/");
            let is_weak = strong.is_some();
            let opaque = strong.unwrap_or(left);
            let end = opaque.strip_prefix('"').and_then(|inner| inner.find('"'));
            let Some(end) = end else {
                return false;
            };
            let (tag, rest) = opaque.split_at(end + 2);
            if matches(is_weak, tag) {
                return true;
            }
            left = rest;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT
    const MODIFIED: u64 = 784_111_777;
    const FILE: Validators<'static> = Validators {
        tag: "\"abc\"",
        modified: Some(MODIFIED),
    };

    fn request(method: &str, fields: &str) -> std::rc::Rc<Request> {
        let fields: String = fields
            .lines()
            .map(|line| format!("{}\r\n", line.trim()))
            .collect();
        let text = format!("{method} / HTTP/1.1\r\nHost: h\r\n{fields}\r\n");
        Request::from_bytes(text.as_bytes()).expect("a request")
    }

    fn of(fields: &str) -> ConditionResult {
        verdict(&request("GET", fields), FILE)
    }

    #[test]
    fn none_match_is_a_list_and_compares_weakly() {
        for (fields, expected) in [
            ("", ConditionResult::Send),
            ("If-None-Match: \"abc\"", ConditionResult::NotModified),
            ("If-None-Match: W/\"abc\"", ConditionResult::NotModified),
            (
                "If-None-Match: \"x\", \"a,b\" ,W/\"abc\"",
                ConditionResult::NotModified,
            ),
            (
                "If-None-Match: \"x\"\nIf-None-Match: \"abc\"",
                ConditionResult::NotModified,
            ),
            ("If-None-Match: *", ConditionResult::NotModified),
            ("If-None-Match: \"abcd\"", ConditionResult::Send),
            ("If-None-Match: abc", ConditionResult::Send),
            ("If-None-Match: \"abc", ConditionResult::Send),
            ("If-None-Match: \"x\", *", ConditionResult::Send),
            // The date does not count beside it.
            (
                "If-None-Match: \"x\"\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
                ConditionResult::Send,
            ),
        ] {
            assert_eq!(of(fields), expected, "{fields}");
        }
        let put = request("PUT", "If-None-Match: *");
        assert_eq!(verdict(&put, FILE), ConditionResult::Failed);
    }

    #[test]
    fn dates_are_compared_by_the_second() {
        for (fields, expected) in [
            (
                "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
                ConditionResult::NotModified,
            ),
            (
                "If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT",
                ConditionResult::NotModified,
            ),
            (
                "If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT",
                ConditionResult::Send,
            ),
            (
                "If-Modified-Since: Mon, 07 Nov 1994 08:49:36 GMT",
                ConditionResult::NotModified,
            ),
            ("If-Modified-Since: yesterday", ConditionResult::Send),
            (
                "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
                ConditionResult::Send,
            ),
            (
                "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT",
                ConditionResult::Failed,
            ),
            ("If-Unmodified-Since: never", ConditionResult::Send),
        ] {
            assert_eq!(of(fields), expected, "{fields}");
        }
    }

    #[test]
    fn match_compares_strongly_and_comes_first() {
        for (fields, expected) in [
            ("If-Match: \"abc\"", ConditionResult::Send),
            ("If-Match: *", ConditionResult::Send),
            ("If-Match: W/\"abc\"", ConditionResult::Failed),
            ("If-Match: \"x\"", ConditionResult::Failed),
            (
                "If-Match: \"x\", \"abc\"\nIf-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT",
                ConditionResult::Send,
            ),
            (
                "If-Match: \"abc\"\nIf-None-Match: \"abc\"",
                ConditionResult::NotModified,
            ),
            (
                "If-Match: \"x\"\nIf-None-Match: \"abc\"",
                ConditionResult::Failed,
            ),
        ] {
            assert_eq!(of(fields), expected, "{fields}");
        }
    }

    #[test]
    fn if_range_wants_exactly_this_state() {
        for (fields, expected) in [
            ("", true),
            ("If-Range: \"abc\"", true),
            ("If-Range: W/\"abc\"", false),
            ("If-Range: \"x\"", false),
            ("If-Range: Sun, 06 Nov 1994 08:49:37 GMT", true),
            ("If-Range: Mon, 07 Nov 1994 08:49:37 GMT", false),
            ("If-Range: x", false),
        ] {
            assert_eq!(
                range_counts(&request("GET", fields), FILE),
                expected,
                "{fields}"
            );
        }
    }

    #[test]
    fn dates_are_written_as_they_are_read() {
        assert_eq!(date(MODIFIED), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(seconds(date(MODIFIED).as_bytes()), Some(MODIFIED));
        assert!(date(u64::MAX).starts_with("Fri, 31 Dec 9999"));
    }
}
