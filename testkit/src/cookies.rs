//! The cookies of one browser (RFC 6265), as far as tests need one: by name, host and path. Cookies that browsers
//! refuse because of their domain or the prefix of their name are not kept.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

/// The cookies that a browser has, by name, path and host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cookies(BTreeMap<(String, String, String), Cookie>);

#[derive(Clone, Debug)]
struct Cookie {
    value: String,
    /// True if the hosts below its own get it too.
    has_domain: bool,
    /// The time since 1970 at which it expires, if it does.
    expires: Option<Duration>,
}

impl Cookies {
    /// The value of the field `Cookie` of a request to `authority` for `path` at a time since 1970, if there are any
    /// cookies for it.
    pub(crate) fn field(&self, authority: &str, path: &str, now: Duration) -> Option<String> {
        let host = host_of(authority);
        let sent = self.0.iter().filter(|((_, cookie_path, domain), cookie)| {
            let is_for_host = host == *domain || cookie.has_domain && is_within(&host, domain);
            let is_there = cookie.expires.is_none_or(|expires| expires > now);
            is_for_host && is_below(path, cookie_path) && is_there
        });
        let mut sent: Vec<_> = sent.collect();
        sent.sort_by_key(|((_, cookie_path, _), _)| Reverse(cookie_path.len()));
        let pairs = sent.iter();
        let pairs: Vec<String> = pairs
            .map(|((name, ..), cookie)| format!("{name}={}", cookie.value))
            .collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }

    /// Keeps the cookie that a field `Set-Cookie` sets in the answer of `authority` to a request for `path` at a time
    /// since 1970, or forgets the cookie that it lets expire.
    pub(crate) fn keep(&mut self, authority: &str, path: &str, line: &str, now: Duration) {
        let mut parts = line.split(';');
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else {
            return;
        };
        let host = host_of(authority);
        let (mut max_age, mut expires, mut own_path, mut domain) = (None, None, None, None);
        let mut is_secure = false;
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let (key, value) = (key.trim(), value.trim());
            let is = |wanted: &str| key.eq_ignore_ascii_case(wanted);
            if is("max-age") {
                max_age = value.parse::<i64>().ok().or(max_age);
            } else if is("expires") {
                expires = date(value).or(expires);
            } else if is("path") {
                own_path = Some(value).filter(|path| path.starts_with('/'));
            } else if is("domain") && !value.is_empty() {
                domain = Some(value.trim_start_matches('.').to_ascii_lowercase());
            } else if is("secure") {
                is_secure = true;
            }
        }
        let name = name.trim();
        let is_whole = own_path == Some("/") && domain.is_none();
        if has_prefix(name, "__Secure-") && !is_secure
            || has_prefix(name, "__Host-") && !(is_secure && is_whole)
        {
            return;
        }
        let age = max_age.map(|seconds| Duration::from_secs(seconds.try_into().unwrap_or(0)));
        let expires = age.map(|age| now.saturating_add(age)).or(expires);
        let own_path = own_path.unwrap_or_else(|| folder_of(path));
        // A domain without a dot is a public suffix. As the name of the host it is that host alone.
        let is_suffix = |domain: &String| !domain.contains('.');
        let has_domain = domain.as_ref().is_some_and(|domain| !is_suffix(domain));
        let domain = domain.unwrap_or_else(|| host.clone());
        if host != domain && (is_suffix(&domain) || !is_within(&host, &domain)) {
            // A host sets no cookies for others.
            return;
        }
        let key = (name.to_owned(), own_path.to_owned(), domain);
        if expires.is_some_and(|expires| expires <= now) {
            self.0.remove(&key);
        } else {
            let value = value.trim().to_owned();
            let cookie = Cookie {
                value,
                has_domain,
                expires,
            };
            self.0.insert(key, cookie);
        }
    }
}

/// The host of an authority, in small letters and without its port.
fn host_of(authority: &str) -> String {
    let end = match authority.rfind(']') {
        Some(end) => end + 1,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    authority[..end].to_ascii_lowercase()
}

/// Reports whether a name begins with a prefix, in letters of either case (RFC 6265bis section 5.4).
fn has_prefix(name: &str, prefix: &str) -> bool {
    let front = name.get(..prefix.len());
    front.is_some_and(|front| front.eq_ignore_ascii_case(prefix))
}

/// Reports whether a host is below a domain.
fn is_within(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .is_some_and(|front| front.ends_with('.'))
}

/// Reports whether a cookie with this path is sent with a request for `path` (RFC 6265 section 5.1.4).
fn is_below(path: &str, cookie_path: &str) -> bool {
    let rest = path.strip_prefix(cookie_path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || cookie_path.ends_with('/'))
}

/// The path of a cookie that names none: the folder of the request's path.
fn folder_of(path: &str) -> &str {
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(end) => &path[..end],
    }
}

/// The time since 1970 of a date, which may have hyphens as in Netscape's first cookies.
fn date(text: &str) -> Option<Duration> {
    let date = httpdate::parse_http_date(text);
    let date = date.or_else(|_| httpdate::parse_http_date(&text.replace('-', " ")));
    date.ok()?.duration_since(UNIX_EPOCH).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-01.
    const NOW: Duration = Duration::from_secs(1_767_225_600);

    fn after(lines: &[&str]) -> Cookies {
        let mut cookies = Cookies::default();
        for line in lines {
            cookies.keep("localhost", "/shop/cart", line, NOW);
        }
        cookies
    }

    #[test]
    fn cookies_are_sent_until_they_expire() {
        let cookies = after(&[
            "a=1; Path=/; Max-Age=10",
            "b=2; path=/; EXPIRES=Thu, 01 Jan 2026 00:01:00 GMT",
            "c=3; Path=/; Expires=Thu, 01-Jan-2026 00:02:00 GMT",
            "d=4; Path=/; Max-Age=300; Expires=Wed, 01 Jan 2020 00:00:00 GMT",
            "e=5; Path=/; Expires=never",
        ]);
        for (seconds, expected) in [
            (0, "a=1; b=2; c=3; d=4; e=5"),
            (10, "b=2; c=3; d=4; e=5"),
            (60, "c=3; d=4; e=5"),
            (120, "d=4; e=5"),
            (300, "e=5"),
        ] {
            let field = cookies.field("localhost", "/", NOW + Duration::from_secs(seconds));
            assert_eq!(field.as_deref(), Some(expected), "{seconds}");
        }
    }

    #[test]
    fn expired_lines_take_a_cookie_away() {
        for line in [
            "a=; Path=/; Max-Age=0",
            "a=; Path=/; Max-Age=-5",
            "a=; Path=/; Expires=Wed, 01 Jan 2020 00:00:00 GMT",
            "a=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        ] {
            let cookies = after(&["a=1; Path=/", line]);
            assert_eq!(cookies.field("localhost", "/", NOW), None, "{line}");
        }
    }

    #[test]
    fn cookies_are_sent_below_their_paths() {
        let cookies = after(&["a=1; Path=/", "b=2; Path=/shop/cart", "c=3", "no pair"]);
        for (path, expected) in [
            ("/", "a=1"),
            ("/shopping", "a=1"),
            ("/shop", "c=3; a=1"),
            ("/shop/carts", "c=3; a=1"),
            ("/shop/cart", "b=2; c=3; a=1"),
            ("/shop/cart/7", "b=2; c=3; a=1"),
        ] {
            assert_eq!(
                cookies.field("localhost", path, NOW).as_deref(),
                Some(expected),
                "{path}"
            );
        }
    }

    #[test]
    fn cookies_are_sent_to_their_host_or_below_their_domain() {
        let mut cookies = Cookies::default();
        let host = "a.example.org:8080";
        for line in [
            "own=1; Path=/",
            "all=2; Path=/; Domain=.Example.org",
            "foreign=3; Path=/; Domain=b.example.org",
            "other=4; Path=/; Domain=ample.org",
        ] {
            cookies.keep(host, "/", line, NOW);
        }
        for (host, expected) in [
            ("a.example.org", Some("all=2; own=1")),
            ("A.EXAMPLE.ORG:80", Some("all=2; own=1")),
            ("b.example.org", Some("all=2")),
            ("example.org", Some("all=2")),
            ("badexample.org", None),
            ("a.a.example.org", Some("all=2")),
            ("[::1]:80", None),
        ] {
            let field = cookies.field(host, "/", NOW);
            assert_eq!(field.as_deref(), expected, "{host}");
        }
    }
    #[test]
    fn a_public_suffix_is_no_domain_of_a_cookie() {
        let mut cookies = Cookies::default();
        for line in ["a=1; Path=/; Domain=org", "b=2; Path=/; Domain=.ORG"] {
            cookies.keep("a.example.org", "/", line, NOW);
        }
        assert_eq!(cookies.field("a.example.org", "/", NOW), None);
        assert_eq!(cookies.field("b.org", "/", NOW), None);
        // As the name of the host itself it is that host alone.
        cookies.keep("localhost", "/", "c=3; Path=/; Domain=LocalHost", NOW);
        let field = |host: &str| cookies.field(host, "/", NOW);
        assert_eq!(field("localhost").as_deref(), Some("c=3"));
        assert_eq!(field("a.localhost"), None);
    }

    #[test]
    fn the_prefix_of_a_name_demands_its_attributes() {
        for (line, is_kept) in [
            ("__Host-a=1; Path=/; Secure", true),
            ("__Host-a=1; secure; path=/; HttpOnly", true),
            ("__Host-a=1; Path=/; Secure; Domain=", true),
            ("__Host-a=1; Path=/", false),
            ("__Host-a=1; Secure", false),
            ("__Host-a=1; Path=/shop; Secure", false),
            ("__Host-a=1; Path=/; Secure; Domain=localhost", false),
            ("__host-a=1; Path=/", false),
            ("__Secure-a=1; Path=/; Secure", true),
            ("__Secure-a=1; Path=/shop; Secure", true),
            ("__Secure-a=1; Path=/", false),
            ("__SECURE-a=1; Path=/", false),
            ("__Hos=1; Path=/", true),
        ] {
            let cookies = after(&[line]);
            let field = cookies.field("localhost", "/shop", NOW);
            assert_eq!(field.is_some(), is_kept, "{line}");
        }
        // One that is refused takes no other away.
        let line = "__Host-a=; Path=/; Max-Age=0";
        let cookies = after(&["__Host-a=1; Path=/; Secure", line]);
        assert!(cookies.field("localhost", "/", NOW).is_some());
    }
}
