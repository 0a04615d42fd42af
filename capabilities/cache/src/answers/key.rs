//! The key under which an answer is kept: requests with the same key get the same answer.

use crate::answers::options::AnswerCacheOptions;
use crate::limits::ANSWER_KEY_BYTES_MAX;
use sampan_host::RequestView;
use sampan_host::request::form_pairs;
use std::sync::Arc;

/// Divides the parts of a key. No URL and no escaped value has it.
const LINE_END: char = '\n';
/// Begins a line of a header field. No escaped value has it.
const VALUE_BEGIN: char = '\t';

/// Returns the beginning of the keys of one middleware: one with other options answers other requests alike.
pub(super) fn beginning(options: &AnswerCacheOptions) -> String {
    format!("{options:?}{LINE_END}")
}

/// Returns the key of a request; `None` where its answer may be for its client alone, or is not kept for another
/// reason.
pub(super) fn of(
    beginning: &str,
    options: &AnswerCacheOptions,
    request: &dyn RequestView,
) -> Option<Arc<str>> {
    if !matches!(request.method(), "GET" | "HEAD") || has_more(request) {
        return None;
    }
    if is_personal(request, &options.ignored_cookies) {
        return None;
    }
    let mut key = beginning.to_owned();
    // Scheme and host belong to it: links in pages have them.
    let url = request.url();
    match &options.query {
        None => key.push_str(&url),
        Some(counted) => {
            key.push_str(url.split('?').next().unwrap_or_default());
            key.push('?');
            push_counted(&mut key, request.query().unwrap_or_default(), counted);
        }
    }
    for name in ["accept"]
        .into_iter()
        .chain(options.vary.iter().map(String::as_str))
    {
        key.push(LINE_END);
        push_field(&mut key, request, name);
    }
    (key.len() <= ANSWER_KEY_BYTES_MAX).then(|| key.into())
}

/// Reports whether a request has more than a head: a body, or a socket behind it.
fn has_more(request: &dyn RequestView) -> bool {
    !request.body().is_empty()
        || request.body_source().is_some()
        || request.header("upgrade").is_some()
        // HTTP/2 has no `Upgrade` (RFC 8441).
        || request.header("sec-websocket-version").is_some()
}

/// Reports whether a request says who its client is.
fn is_personal(request: &dyn RequestView, ignored_cookies: &[String]) -> bool {
    let mut is_personal = false;
    request.each_header(&mut |name, value| {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        is_personal |= is("authorization")
            || is("proxy-authorization")
            || (is("cookie") && !are_ignored(value, ignored_cookies));
    });
    let certificate = request.tls().and_then(|tls| tls.fingerprint);
    is_personal || certificate.is_some()
}

/// Reports whether all cookies of a field are among these. Anything else than a named cookie is not.
fn are_ignored(field: &[u8], ignored: &[String]) -> bool {
    let mut cookies = field.split(|byte| *byte == b';');
    cookies.all(|cookie| {
        let name = cookie.trim_ascii().split(|byte| *byte == b'=').next();
        let name = name.unwrap_or_default();
        ignored.iter().any(|ignored| ignored.as_bytes() == name)
    })
}

/// Adds the parameters of a query that count, as they were sent.
fn push_counted(key: &mut String, query: &str, counted: &[String]) {
    for part in query.split('&') {
        let name = form_pairs(part.as_bytes()).next();
        if name.is_some_and(|(name, _)| counted.iter().any(|counted| *counted == name)) {
            key.push_str(part);
            key.push('&');
        }
    }
}

/// Adds the lines of a header field. Their bytes are escaped, so that two values stay two.
fn push_field(key: &mut String, request: &dyn RequestView, name: &str) {
    request.each_header(&mut |other, value| {
        if other.eq_ignore_ascii_case(name) {
            // A field that is there and empty is not one that is missing.
            key.push(VALUE_BEGIN);
            key.push_str(&value.escape_ascii().to_string());
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::{Error, Store};
    use std::borrow::Cow;
    use std::time::Duration;

    #[derive(Default)]
    struct TestRequest {
        method: &'static str,
        query: &'static str,
        fields: Vec<(&'static str, &'static str)>,
        store: Store,
    }

    impl RequestView for TestRequest {
        fn method(&self) -> &str {
            self.method
        }
        fn path(&self) -> &str {
            "/a"
        }
        fn query(&self) -> Option<&str> {
            Some(self.query)
        }
        fn url(&self) -> String {
            format!("http://localhost/a?{}", self.query)
        }
        fn param(&self, _: usize) -> Option<(&str, Cow<'_, str>)> {
            None
        }
        fn header(&self, name: &str) -> Option<&[u8]> {
            let mut fields = self.fields.iter();
            let found = fields.find(|(other, _)| other.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.as_bytes())
        }
        fn each_header(&self, each: &mut dyn FnMut(&str, &[u8])) {
            for (name, value) in &self.fields {
                each(name, value.as_bytes());
            }
        }
        fn ip(&self) -> String {
            String::new()
        }
        fn id(&self) -> Cow<'_, str> {
            "".into()
        }
        fn body(&self) -> &[u8] {
            &[]
        }
        fn store(&self) -> &Store {
            &self.store
        }
        fn add_header(&self, _: &str, _: &[u8]) -> Result<(), Error> {
            Ok(())
        }
        fn is_over(&self) -> bool {
            false
        }
    }

    fn options() -> AnswerCacheOptions {
        AnswerCacheOptions {
            ttl: Duration::from_secs(1),
            query: Some(vec!["page".to_owned()]),
            vary: vec!["x-tenant".to_owned()],
            ignored_cookies: vec!["_ga".to_owned()],
        }
    }

    fn key(query: &'static str, fields: &[(&'static str, &'static str)]) -> Option<Arc<str>> {
        let request = TestRequest {
            method: "GET",
            query,
            fields: fields.to_vec(),
            ..TestRequest::default()
        };
        of("", &options(), &request)
    }

    #[test]
    fn requests_that_say_who_asks_have_no_key() {
        for field in [
            ("Authorization", "Bearer a"),
            ("proxy-authorization", "Basic a"),
            ("Cookie", "session=a"),
            ("Cookie", "_ga=1; session=a"),
            ("Cookie", "_ga"),
            ("Cookie", ""),
            ("Cookie", "_ga=1;"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
        ] {
            let expected = field == ("Cookie", "_ga");
            assert_eq!(key("", &[field]).is_some(), expected, "{field:?}");
        }
        assert_eq!(key("", &[("Cookie", "_ga=1")]), key("", &[]));
        let lines = [("Cookie", "_ga=1"), ("Cookie", "session=a")];
        assert_eq!(key("", &lines), None);
        let request = TestRequest {
            method: "POST",
            ..TestRequest::default()
        };
        assert_eq!(of("", &options(), &request), None);
    }

    #[test]
    fn what_answers_depend_on_belongs_to_the_key() {
        let plain = key("", &[]);
        assert_eq!(key("utm=1", &[]), plain);
        assert_ne!(key("page=1", &[]), plain);
        // The name is read as the handler reads it.
        assert_ne!(key("p%61ge=1", &[]), plain);
        assert_ne!(key("page=1", &[]), key("page=2", &[]));
        assert_ne!(key("page=1%0A=b", &[]), key("page=1", &[("Accept", "b")]));
        for name in ["Accept", "X-Tenant"] {
            assert_ne!(key("", &[(name, "a")]), plain);
            assert_ne!(key("", &[(name, "a")]), key("", &[(name, "b")]));
            assert_ne!(key("", &[(name, "")]), plain);
        }
        assert_ne!(key("", &[("Accept", "a")]), key("", &[("X-Tenant", "a")]));
        let lines = [("X-Tenant", "a"), ("X-Tenant", "b")];
        for value in ["a=b", "a\tb", "a, b", "ab"] {
            assert_ne!(key("", &lines), key("", &[("X-Tenant", value)]), "{value}");
        }
    }

    #[test]
    fn a_key_has_a_limit() {
        let long: &'static str = "x".repeat(ANSWER_KEY_BYTES_MAX).leak();
        assert_eq!(key("", &[("Accept", long)]), None);
    }
}
