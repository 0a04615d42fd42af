//! The patterns by which tests name requests.

/// A pattern such as `POST https://api.example.com/v1/*`. Method, scheme and query may be left out; `*` stands for any
/// characters.
#[derive(Debug)]
pub(super) struct FetchPattern {
    method: Option<String>,
    url: String,
    has_scheme: bool,
    has_query: bool,
}

impl FetchPattern {
    pub(super) fn new(pattern: &str) -> Self {
        let (method, url) = match pattern.trim().split_once(' ') {
            Some((method, url)) => (Some(method.to_ascii_uppercase()), url.trim()),
            None => (None, pattern.trim()),
        };
        Self {
            method: method.filter(|method| method != "*"),
            url: url.to_owned(),
            has_scheme: url.contains("://"),
            has_query: url.contains('?'),
        }
    }

    /// Reports whether a request matches.
    pub(super) fn matches(&self, method: &str, url: &str) -> bool {
        if self.method.as_deref().is_some_and(|own| own != method) {
            return false;
        }
        let url = url.split('#').next().unwrap_or_default();
        let whole = match url.split_once("://") {
            Some((_, rest)) if !self.has_scheme => rest,
            _ => url,
        };
        let without_query = whole.split('?').next().unwrap_or_default();
        let named = if self.has_query { whole } else { without_query };
        // The root of a site may be written without its slash.
        is_like(&self.url, named) || named.strip_suffix('/') == Some(&self.url)
    }
}

/// Reports whether a text is like a pattern with `*`.
fn is_like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Returns the host of a URL, without its port.
pub(super) fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_leave_out_what_does_not_matter() {
        let url = "https://api.example.com/v1/users/7?full=1";
        for (pattern, expected) in [
            ("https://api.example.com/v1/users/7", true),
            ("api.example.com/v1/users/*", true),
            ("api.example.com/*", true),
            ("*", true),
            ("*/users/*", true),
            ("GET api.example.com/v1/users/7", true),
            ("post api.example.com/*", false),
            ("api.example.com/v1/users/7?full=1", true),
            ("api.example.com/v1/users/7?full=2", false),
            ("api.example.com/v1/*?full=*", true),
            ("http://api.example.com/*", false),
            ("example.com/*", false),
            ("api.example.com/v1/users", false),
            ("api.example.com/*/7/*", false),
        ] {
            let matches = FetchPattern::new(pattern).matches("GET", url);
            assert_eq!(matches, expected, "{pattern}");
        }
        assert!(FetchPattern::new("example.com").matches("GET", "http://example.com/"));
    }

    #[test]
    fn hosts_are_found_in_urls() {
        for (url, host) in [
            ("http://localhost:80/a", "localhost"),
            ("https://user:word@example.com?x", "example.com"),
            ("http://[::1]:8080/", "::1"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(host_of(url), host);
        }
    }
}
