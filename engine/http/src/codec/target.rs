//! The request target (RFC 9112 section 3.2) and the Host field (RFC 9110 section 7.2).

use super::head::Span;
use super::{Fault, Method};

/// Where the parts of a target are, as spans of the text given to [`split`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// Empty where an absolute-form target has no path; the path is then `/`.
    pub(super) path: Span,
    pub(super) query: Option<Span>,
    /// Only in absolute-form; it then takes the place of the Host field (RFC 9112 section 3.2.2).
    pub(super) authority: Option<Span>,
}

/// Checks a target and finds its parts.
pub(super) fn split(target: &[u8], method: Method) -> Result<Parts, Fault> {
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
        [b'/', ..] => Ok(path_and_query(target, 0, None)),
        b"*" if method == Method::Options => Ok(Parts {
            path: Span::new(0, 1),
            query: None,
            authority: None,
        }),
        b"*" => Err(Fault::bad("asterisk-form without OPTIONS")),
        _ => absolute(target),
    }
}

/// `http://authority/path?query`; only this server's own schemes.
fn absolute(target: &[u8]) -> Result<Parts, Fault> {
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
    Ok(path_and_query(
        target,
        start + len,
        Some(Span::new(start, len)),
    ))
}

fn path_and_query(target: &[u8], start: usize, authority: Option<Span>) -> Parts {
    match memchr::memchr(b'?', &target[start..]) {
        None => Parts {
            path: Span::new(start, target.len() - start),
            query: None,
            authority,
        },
        Some(len) => {
            let query = start + len + 1;
            Parts {
                path: Span::new(start, len),
                query: Some(Span::new(query, target.len() - query)),
                authority,
            }
        }
    }
}

/// Whether this is `host [":" port]` with a host that is not empty: a registered name, an IPv4 address, or
/// an IP literal in brackets (RFC 3986 section 3.2.2). User information is refused: RFC 9110 section 4.2.4
/// tells recipients to treat it as an error.
pub(super) fn is_authority(value: &[u8]) -> bool {
    let (host_is_valid, rest) = if let [b'[', rest @ ..] = value {
        let Some(end) = memchr::memchr(b']', rest) else {
            return false;
        };
        (is_ip_literal(&rest[..end]), &rest[end + 1..])
    } else {
        let end = memchr::memchr(b':', value).unwrap_or(value.len());
        (is_reg_name(&value[..end]), &value[end..])
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
            "a%20b",
            "xn--9ca",
        ] {
            assert!(is_authority(good.as_bytes()), "{good}");
        }
        for bad in [
            "", ":80", "a b", "a:80:80", "a:65536", "a:-1", "[::1", "[x]", "[::1]x", "a@b", "a/b",
            "a%2", "é", "a\"b", "a:123456",
        ] {
            assert!(!is_authority(bad.as_bytes()), "{bad}");
        }
    }
}
