//! The request target (RFC 9112 section 3.2) and the Host field (RFC 9110 section 7.2).

use super::head::Span;
use crate::codec::fault::Fault;
use crate::method::Method;

/// The parts of a target, as spans of the text given to [`split`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TargetParts {
    /// Empty where an absolute-form target has no path; the path is then `/`.
    pub(super) path: Span,
    pub(super) query: Option<Span>,
    /// The authority, in absolute-form only; it then takes the place of the Host field (RFC 9112 section 3.2.2).
    pub(super) authority: Option<Span>,
}

/// Checks a target and finds its parts.
pub(super) fn split(target: &[u8], method: Method) -> Result<TargetParts, Fault> {
    // Control bytes, space and DEL; `#` would start a fragment, which no target has: some recipients cut it
    // off and some do not.
    if target
        .iter()
        .any(|&byte| byte <= b' ' || byte == 0x7f || byte == b'#')
    {
        return Err(Fault::bad("invalid byte in target"));
    }
    if !target.is_ascii() && std::str::from_utf8(target).is_err() {
        return Err(Fault::bad("target is not UTF-8"));
    }
    match target {
        [b'/', ..] => path_and_query(target, 0, None),
        b"*" if method == Method::Options => Ok(TargetParts {
            path: Span::new(0, 1),
            query: None,
            authority: None,
        }),
        b"*" => Err(Fault::bad("asterisk-form without OPTIONS")),
        _ => absolute(target),
    }
}

/// `http://authority/path?query`; only this server's own schemes.
fn absolute(target: &[u8]) -> Result<TargetParts, Fault> {
    let scheme = [&b"http://"[..], b"https://"]
        .into_iter()
        .find(|scheme| {
            target
                .get(..scheme.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        })
        .ok_or(Fault::bad("invalid target form"))?;
    let start = scheme.len();
    let len = target[start..]
        .iter()
        .position(|&byte| byte == b'/' || byte == b'?')
        .unwrap_or(target.len() - start);
    if !is_authority(&target[start..start + len]) {
        return Err(Fault::bad("invalid authority in target"));
    }
    path_and_query(target, start + len, Some(Span::new(start, len)))
}

fn path_and_query(
    target: &[u8],
    start: usize,
    authority: Option<Span>,
) -> Result<TargetParts, Fault> {
    let after = &target[start..];
    let len = memchr::memchr(b'?', after);
    let path = &after[..len.unwrap_or(after.len())];
    // Clients resolve dot segments before they send (RFC 3986 section 5.2.4), and turn a backslash into a slash. Such
    // targets serve to make two readers of the path disagree, such as middleware of `/admin/*` and
    // `new URL(request.url)`.
    if memchr::memchr3(b'.', b'%', b'\\', path).is_some() && has_dot_segment_or_backslash(path) {
        return Err(Fault::bad("dot segment or backslash in path"));
    }
    let query = len.map(|len| start + len + 1);
    Ok(TargetParts {
        path: Span::new(start, path.len()),
        query: query.map(|query| Span::new(query, target.len() - query)),
        authority,
    })
}

fn has_dot_segment_or_backslash(path: &[u8]) -> bool {
    path.split(|&byte| byte == b'/').any(|segment| {
        // At most two dots, each of one byte or of three.
        let is_dots = segment.len() <= 6 && {
            let text = segment.to_ascii_lowercase();
            let rest = text.strip_prefix(b"%2e").or(text.strip_prefix(b"."));
            matches!(rest, Some(b"" | b"." | b"%2e"))
        };
        is_dots || segment.contains(&b'\\')
    })
}

/// Reports whether this is `host [":" port]` with a host that is not empty: a registered name, an IPv4 address, or
/// an IP literal in brackets (RFC 3986 section 3.2.2). User information is refused: RFC 9110 section 4.2.4
/// tells recipients to treat it as an error.
pub fn is_authority(value: &[u8]) -> bool {
    let (host_is_valid, rest) = if let [b'[', rest @ ..] = value {
        let Some(end) = memchr::memchr(b']', rest) else {
            return false;
        };
        (is_ip_literal(&rest[..end]), &rest[end + 1..])
    } else {
        let end = memchr::memchr(b':', value).unwrap_or(value.len());
        (is_host(&value[..end]), &value[end..])
    };
    host_is_valid
        && match rest {
            [] => true,
            // An empty port is in the grammar (`port = *DIGIT`), and a number that fits is not.
            [b':', port @ ..] => {
                port.len() <= 5 && port.iter().all(u8::is_ascii_digit) && port_fits(port)
            }
            _ => false,
        }
}

fn port_fits(port: &[u8]) -> bool {
    port.iter()
        .fold(0u32, |sum, &digit| sum * 10 + u32::from(digit - b'0'))
        <= 65_535
}

fn is_ip_literal(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<std::net::Ipv6Addr>().is_ok())
}

/// Reports whether a URL can have this host: `256.256.256.256` and `a%20b` follow the grammar of a registered name and
/// are in no URL
/// (WHATWG URL section 3.5), so a handler that parses its URL would fail.
fn is_host(name: &[u8]) -> bool {
    let last = name.rsplit(|&byte| byte == b'.').next().unwrap_or_default();
    let is_usual = last.first().is_some_and(u8::is_ascii_alphabetic)
        && name
            .iter()
            .all(|&byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-')
        // `xn--` begins a name in Punycode, which may be none.
        && !name.windows(2).any(|pair| pair == b"--")
        || std::str::from_utf8(name).is_ok_and(|text| text.parse::<std::net::Ipv4Addr>().is_ok());
    is_usual
        || is_reg_name(name)
            && std::str::from_utf8(name).is_ok_and(|text| url::Host::parse(text).is_ok())
}

fn is_reg_name(name: &[u8]) -> bool {
    let mut rest = name;
    while let [first, tail @ ..] = rest {
        rest = match first {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => tail,
            b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' => tail,
            b'%' if tail.len() >= 2
                && tail[0].is_ascii_hexdigit()
                && tail[1].is_ascii_hexdigit() =>
            {
                &tail[2..]
            }
            _ => return false,
        };
    }
    !name.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(target: &str) -> Result<(&str, Option<&str>, Option<&str>), u16> {
        let parts = split(target.as_bytes(), Method::Options).map_err(|fault| fault.status)?;
        let text = |span: Span| std::str::from_utf8(span.of(target.as_bytes())).unwrap();
        Ok((
            text(parts.path),
            parts.query.map(text),
            parts.authority.map(text),
        ))
    }

    #[test]
    fn forms() {
        assert_eq!(
            parts("/a/b%20c?x=1?2"),
            Ok(("/a/b%20c", Some("x=1?2"), None))
        );
        assert_eq!(parts("/?"), Ok(("/", Some(""), None)));
        assert_eq!(parts("/é"), Ok(("/é", None, None)));
        assert_eq!(parts("*"), Ok(("*", None, None)));
        for path in ["/...", "/.a", "/a.", "/..a/b", "/%2e%2e%2e", "/a%5Cb"] {
            assert_eq!(parts(path), Ok((path, None, None)));
        }
        assert_eq!(parts("/a?/../\\"), Ok(("/a", Some("/../\\"), None)));
        assert_eq!(
            parts("HTTP://h:80/a?q"),
            Ok(("/a", Some("q"), Some("h:80")))
        );
        assert_eq!(parts("https://h"), Ok(("", None, Some("h"))));
        assert_eq!(parts("http://h?q"), Ok(("", Some("q"), Some("h"))));
        for bad in [
            "a",
            "ftp://h/",
            "http:///a",
            "http://u@h/",
            "h:80",
            "/a#b",
            "/a\x01",
            "/a\x7f",
            "http://h:x/",
            "http://[::1/",
            "http://256.1.1.1/",
            "/.",
            "/..",
            "/a/../b",
            "/a/%2E%2e/b",
            "/a/.%2e?q",
            "/./a",
            "/a\\b",
            "http://h/x/..",
        ] {
            assert_eq!(parts(bad), Err(400), "{bad}");
        }
        assert_eq!(split(b"/\xff", Method::Get).unwrap_err().status, 400);
        assert_eq!(split(b"*", Method::Get).unwrap_err().status, 400);
    }

    #[test]
    fn authorities() {
        for good in [
            "a",
            "a.b-c_d:1",
            "a:",
            "127.0.0.1:65535",
            "[::1]",
            "[::1]:8080",
            "127.1:8080",
            "a%62",
            "xn--9ca",
        ] {
            assert!(is_authority(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            ":80",
            "a b",
            "a:80:80",
            "a:65536",
            "a:-1",
            "[::1",
            "[x]",
            "[::1]x",
            "a@b",
            "a/b",
            "a%2",
            "é",
            "a\"b",
            "a:123456",
            "a%20b",
            "256.256.256.256",
            "1.2.3.4.5",
            "xn--a:80",
        ] {
            assert!(!is_authority(bad.as_bytes()), "{bad}");
        }
    }
}
