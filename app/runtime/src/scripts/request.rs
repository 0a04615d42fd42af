//! A request that a program hands over: not from a socket, but checked like one.

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};

/// A request, as a program has it.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// The bytes of a request of HTTP/1.1, see [`request_bytes`].
    pub bytes: Vec<u8>,
    /// The client.
    pub peer: SocketAddr,
}

impl HttpRequest {
    /// A request of a client that nothing is known about.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            peer: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        }
    }
}

/// The bytes of a request from its parts. What is said about framing (`Content-Length`, `Transfer-Encoding` and the
/// like) is left out: the body is whole. Without a `Host` it is `localhost`.
///
/// # Errors
/// The name of a header that is none, or whose value has control bytes; or `method` or `target`, which cannot stand in
/// a request line.
pub fn request_bytes<'a>(
    method: &str,
    target: &str,
    headers: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    body: &[u8],
) -> Result<Vec<u8>, String> {
    let is_visible = |byte: &u8| byte.is_ascii_graphic();
    if method.is_empty() || !method.bytes().all(|byte| is_visible(&byte)) {
        return Err("method".into());
    }
    // The reader of requests refuses what else it does not like in a target.
    if target.is_empty() || target.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return Err("target".into());
    }
    let mut bytes = Vec::with_capacity(256 + target.len() + body.len());
    for part in [method, " ", target, " HTTP/1.1\r\n"] {
        bytes.extend_from_slice(part.as_bytes());
    }
    let mut has_host = false;
    for (name, value) in headers {
        if is_framing(name) {
            continue;
        }
        let is_token = |byte: &u8| byte.is_ascii_graphic() && *byte != b':';
        let is_value = |byte: &u8| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f);
        if name.is_empty() || !name.iter().all(is_token) || !value.iter().all(is_value) {
            return Err(String::from_utf8_lossy(name).into_owned());
        }
        has_host |= name.eq_ignore_ascii_case(b"host");
        for part in [name, b": ", value, b"\r\n"] {
            bytes.extend_from_slice(part);
        }
    }
    let mut rest = String::new();
    if !has_host {
        rest.push_str("Host: localhost\r\n");
    }
    if !body.is_empty() {
        let _ = write!(rest, "Content-Length: {}\r\n", body.len());
    }
    rest.push_str("\r\n");
    bytes.extend_from_slice(rest.as_bytes());
    bytes.extend_from_slice(body);
    Ok(bytes)
}

/// Reports whether a header is about the connection that a message comes on.
pub(super) fn is_framing(name: &[u8]) -> bool {
    const FRAMING: [&str; 8] = [
        "connection",
        "content-length",
        "expect",
        "keep-alive",
        "proxy-connection",
        "te",
        "transfer-encoding",
        "upgrade",
    ];
    FRAMING
        .iter()
        .any(|framing| name.eq_ignore_ascii_case(framing.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(headers: &[(&str, &str)], body: &str) -> Result<String, String> {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let bytes = request_bytes("POST", "/a?b=1", headers, body.as_bytes())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    #[test]
    fn parts_become_a_request_with_framing_of_its_own() {
        let given = [
            ("X-A", "1"),
            ("Content-Length", "99"),
            ("transfer-encoding", "chunked"),
        ];
        assert_eq!(
            bytes(&given, "abc").as_deref(),
            Ok("POST /a?b=1 HTTP/1.1\r\nX-A: 1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc")
        );
        assert_eq!(
            bytes(&[("HOST", "h")], "").as_deref(),
            Ok("POST /a?b=1 HTTP/1.1\r\nHOST: h\r\n\r\n")
        );
    }

    #[test]
    fn nothing_gets_into_the_head_from_a_value() {
        for (name, value) in [
            ("X", "a\r\nY: b"),
            ("X\r\nY", "b"),
            ("", "b"),
            ("X:", "b"),
            ("X Y", "b"),
        ] {
            assert!(bytes(&[(name, value)], "").is_err(), "{name:?} {value:?}");
        }
        for (method, target) in [
            ("GET /x", "/"),
            ("GET", "/ HTTP/1.1\r\nX: y"),
            ("", "/"),
            ("GET", ""),
        ] {
            assert!(
                request_bytes(method, target, std::iter::empty(), b"").is_err(),
                "{method} {target}"
            );
        }
    }
}
