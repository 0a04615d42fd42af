//! Requests and responses of HTTP/2 (RFC 9113 section 8), mapped to and from those of this crate.
//!
//! The frames are the `h2` crate's. Here the parts of a message are held to the rules of HTTP/1.1 heads, so that no
//! request reaches a handler over one protocol that the other refuses. One difference remains: the `http` crate cuts a
//! fragment (`#...`) from a target before it is seen here, which HTTP/1.1 refuses.

use h2::ext::Protocol;
use http::header::{COOKIE, HOST, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;

use super::fault::Fault;
use super::fields::{is_field_value, trim};
use super::framing::{BodyFraming, Framing};
use super::head::{FieldSpan, Head, Span, name_bit};
use super::target;
use crate::limits::Limits;
use crate::method::Method;

/// The beginning of a connection with prior knowledge (RFC 9113 section 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The part of the preface that looks like a head of HTTP/1.1.
pub(crate) const PREFACE_HEAD: &[u8] = b"PRI * HTTP/2.0\r\n\r\n";

/// Fields about one connection of HTTP/1.1, which no request of HTTP/2 has (RFC 9113 section 8.2.2).
const CONNECTION_FIELDS: [&str; 5] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

impl Head {
    /// Fills the head with the parts of a request. Their bytes are appended to `out`, which is empty. `is_whole` says
    /// that no body follows.
    pub(super) fn compose(
        &mut self,
        parts: &Parts,
        is_whole: bool,
        limits: &Limits,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let protocol = parts.extensions.get::<Protocol>().map(Protocol::as_str);
        let is_extended_connect = protocol == Some("websocket");
        let method = match is_extended_connect {
            true => "GET".as_bytes(),
            false => parts.method.as_str().as_bytes(),
        };
        let target = parts.uri.path_and_query().map_or("", |path| path.as_str());
        let target = target.as_bytes();
        check_size(parts, method, target, limits)?;

        let known = Method::from_bytes(method);
        self.method = Some(known);
        self.version_minor = 1;
        self.is_http2 = true;
        self.is_extended_connect = is_extended_connect;
        self.keep_alive = true;
        self.fields.clear();
        self.name_bits = 0;
        self.authority = None;
        self.method_text = put(out, method);
        self.target = put(out, target);
        if known == Method::Connect {
            return Err(Fault::new(501, "CONNECT"));
        }
        // Another form than these would name a second authority.
        if !target.starts_with(b"/") && target != b"*" {
            return Err(Fault::bad("invalid :path"));
        }
        let found = target::split(target, known)?;
        self.path = found.path.shifted(method.len());
        self.query = found.query.map(|query| query.shifted(method.len()));

        let mut framing = Framing::default();
        let authority = parts.uri.authority().map(|authority| authority.as_str());
        if let Some(authority) = authority {
            check_authority(authority, &parts.headers)?;
            if !parts.headers.contains_key(HOST) {
                framing.field(b"host", authority.as_bytes())?;
                self.authority = Some(self.add(out, b"host", authority.as_bytes()));
            }
        }
        for name in parts.headers.keys() {
            let mut values = parts.headers.get_all(name).iter();
            if CONNECTION_FIELDS.contains(&name.as_str()) {
                return Err(Fault::bad("a field about the connection"));
            }
            if name == COOKIE {
                let crumbs: Vec<&[u8]> = values.map(HeaderValue::as_bytes).collect();
                for crumb in &crumbs {
                    check_value(crumb)?;
                }
                self.add(out, b"cookie", &crumbs.join(&b"; "[..]));
                continue;
            }
            for value in &mut values {
                let value = value.as_bytes();
                check_value(value)?;
                let is_host = framing.field(name.as_str().as_bytes(), value)?;
                let span = self.add(out, name.as_str().as_bytes(), value);
                if is_host {
                    self.authority = Some(span);
                }
            }
        }
        if is_extended_connect {
            // As over HTTP/1.1, for handlers that look.
            self.add(out, b"upgrade", b"websocket");
            // What follows is not a body (RFC 8441 section 5).
            self.expects_continue = false;
            self.body = BodyFraming::None;
            return match (framing.finish(1)?, is_whole) {
                (BodyFraming::None, false) => Ok(()),
                (BodyFraming::None, true) => Err(Fault::bad("CONNECT that ends at once")),
                _ => Err(Fault::bad("CONNECT with content-length")),
            };
        }
        self.body = match framing.finish(1)? {
            BodyFraming::Sized(_) if is_whole => {
                return Err(Fault::bad("content-length without a body"));
            }
            BodyFraming::None if !is_whole => BodyFraming::Chunked,
            framing => framing,
        };
        self.expects_continue = framing.expects_continue && !is_whole;
        Ok(())
    }

    /// Adds a field. Returns the place of its value.
    fn add(&mut self, out: &mut Vec<u8>, name: &[u8], value: &[u8]) -> Span {
        self.name_bits |= name_bit(name);
        let name = put(out, name);
        let value = put(out, value);
        self.fields.push(FieldSpan { name, value });
        value
    }
}

fn put(out: &mut Vec<u8>, piece: &[u8]) -> Span {
    let start = out.len();
    out.extend_from_slice(piece);
    Span::new(start, piece.len())
}

/// Holds a head to the limits of those of HTTP/1.1. Each crumb of a cookie counts as a field.
fn check_size(parts: &Parts, method: &[u8], target: &[u8], limits: &Limits) -> Result<(), Fault> {
    if target.len() > limits.target_bytes_max {
        let max = limits.target_bytes_max as u64;
        return Err(Fault::above(
            414,
            "target too long",
            "target_bytes_max",
            max,
        ));
    }
    if parts.headers.len() > limits.headers_max {
        let max = limits.headers_max as u64;
        return Err(Fault::above(431, "too many fields", "headers_max", max));
    }
    let fields = parts.headers.iter();
    let fields = fields.map(|(name, value)| name.as_str().len() + value.len());
    let authority = parts.uri.authority().map_or(0, |name| name.as_str().len());
    let bytes = method.len() + target.len() + authority + fields.sum::<usize>();
    if bytes > limits.head_bytes_max {
        let max = limits.head_bytes_max as u64;
        return Err(Fault::above(431, "head too large", "head_bytes_max", max));
    }
    Ok(())
}

/// Refuses a `:authority` that Host contradicts (RFC 9113 section 8.3.1).
fn check_authority(authority: &str, fields: &HeaderMap) -> Result<(), Fault> {
    if !target::is_authority(authority.as_bytes()) {
        return Err(Fault::bad("invalid :authority"));
    }
    match fields.get(HOST) {
        Some(host) if !host.as_bytes().eq_ignore_ascii_case(authority.as_bytes()) => {
            Err(Fault::bad("Host is not :authority"))
        }
        _ => Ok(()),
    }
}

/// Refuses values that HTTP/1.1 could not carry (RFC 9113 section 8.2.1).
fn check_value(value: &[u8]) -> Result<(), Fault> {
    if trim(value).len() != value.len() {
        return Err(Fault::bad("whitespace around a field value"));
    }
    if !is_field_value(value) {
        return Err(Fault::bad("invalid byte in a field value"));
    }
    Ok(())
}

/// Makes fields of the lines of a response, each `Name: value` with its CRLF. Those that HTTP/2 does not have are left
/// out.
pub(crate) fn fields_of(lines: &[u8], fields: &mut HeaderMap) {
    for line in lines.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Some(colon) = memchr::memchr(b':', line) else {
            continue;
        };
        let (name, value) = (&line[..colon], trim(&line[colon + 1..]));
        let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value))
        else {
            continue;
        };
        if !CONNECTION_FIELDS.contains(&name.as_str()) {
            fields.append(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::decoder::Decoder;

    fn compose(
        request: http::request::Builder,
        is_whole: bool,
    ) -> Result<Decoder, (u16, &'static str)> {
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let mut decoder = Decoder::new();
        let composed = decoder.compose(&parts, is_whole, &Limits::default());
        composed.map_err(|fault| (fault.status, fault.reason))?;
        Ok(decoder)
    }

    fn get(uri: &str) -> http::request::Builder {
        http::Request::get(uri)
    }

    #[test]
    fn a_request_is_what_it_is_over_http1() {
        let request = get("https://example.org:8443/a%20b?x=1")
            .header("cookie", "a=1")
            .header("x-one", "1")
            .header("cookie", "b=2")
            .header("x-one", "2");
        let mut decoder = compose(request, false).unwrap();
        decoder.add_body(b"hel");
        decoder.add_body(b"lo");
        let (head, bytes) = (decoder.head(), decoder.head_bytes());
        assert_eq!(head.method, Some(Method::Get));
        assert_eq!(head.path.of(bytes), b"/a%20b");
        assert_eq!(head.query.unwrap().of(bytes), b"x=1");
        assert_eq!(head.authority.unwrap().of(bytes), b"example.org:8443");
        let mut fields: Vec<(&[u8], &[u8])> = head
            .fields
            .iter()
            .map(|field| (field.name.of(bytes), field.value.of(bytes)))
            .collect();
        fields.sort();
        let expected: [(&[u8], &[u8]); 4] = [
            (b"cookie", b"a=1; b=2"),
            (b"host", b"example.org:8443"),
            (b"x-one", b"1"),
            (b"x-one", b"2"),
        ];
        assert_eq!(fields, expected);
        assert_eq!(decoder.body(), b"hello");
    }

    #[test]
    fn refuses_what_http1_refuses() {
        let host = "https://h/";
        let cases = [
            (get("https://h/a/../b"), "dot segment or backslash in path"),
            (get(host).header("host", "other"), "Host is not :authority"),
            (
                get(host).header("host", "h").header("host", "h"),
                "more than one Host",
            ),
            (get("/"), "missing Host"),
            (get("https://u@h/"), "invalid :authority"),
            (
                get(host).header("transfer-encoding", "chunked"),
                "a field about the connection",
            ),
            (
                get(host).header("connection", "close"),
                "a field about the connection",
            ),
            (
                get(host).header("content-length", "5"),
                "content-length without a body",
            ),
            (
                get(host).header("content-length", "+5"),
                "malformed Content-Length",
            ),
            (
                get(host).header("x-a", " b"),
                "whitespace around a field value",
            ),
            (
                get(host).header("cookie", "a=1\t"),
                "whitespace around a field value",
            ),
            (http::Request::connect("h:1"), "CONNECT"),
            (
                http::Request::connect(host).extension(Protocol::from_static("connect-udp")),
                "CONNECT",
            ),
            (
                http::Request::connect(host).extension(Protocol::from_static("websocket")),
                "CONNECT that ends at once",
            ),
            (
                http::Request::connect("https://h/../a")
                    .extension(Protocol::from_static("websocket")),
                "dot segment or backslash in path",
            ),
            (
                get(host).method("GET").uri("*"),
                "asterisk-form without OPTIONS",
            ),
        ];
        for (request, reason) in cases {
            assert_eq!(compose(request, true).unwrap_err().1, reason);
        }
    }

    #[test]
    fn an_extended_connect_for_a_websocket_is_a_get() {
        let request = http::Request::connect("https://example.org/chat?a=1");
        let request = request.extension(Protocol::from_static("websocket"));
        let decoder = compose(request, false).unwrap();
        let (head, bytes) = (decoder.head(), decoder.head_bytes());
        assert!(head.is_extended_connect);
        assert_eq!(head.method, Some(Method::Get));
        assert_eq!(head.path.of(bytes), b"/chat");
        assert_eq!(head.authority.unwrap().of(bytes), b"example.org");
        let upgrade = head.fields.last().unwrap();
        assert_eq!(upgrade.value.of(bytes), b"websocket");
        let plain = compose(get("https://h/"), true).unwrap();
        assert!(!plain.head().is_extended_connect);
    }

    #[test]
    fn crumbs_of_cookies_are_counted() {
        let crumbs = |count: usize| {
            (0..count).fold(get("https://h/"), |request, _| {
                request.header("cookie", "a=b")
            })
        };
        assert!(compose(crumbs(100), true).is_ok());
        assert_eq!(compose(crumbs(101), true).unwrap_err().0, 431);
        let large = get("https://h/").header("x-a", "b".repeat(16 * 1024));
        assert_eq!(compose(large, true).unwrap_err().0, 431);
        let long = get(&format!("https://h/{}", "b".repeat(9000)));
        assert_eq!(compose(long, true).unwrap_err().0, 414);
    }

    #[test]
    fn fields_of_responses_lose_what_is_about_connections() {
        let mut fields = HeaderMap::new();
        let lines = b"X-A: b\r\nConnection: close\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n";
        fields_of(lines, &mut fields);
        assert_eq!(fields.len(), 3);
        assert_eq!(fields.get_all("set-cookie").iter().count(), 2);
    }
}
