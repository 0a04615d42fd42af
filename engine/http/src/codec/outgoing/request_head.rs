//! The head of a request, appended to an output buffer.

use crate::codec::fields::{is_field_value, is_token};

/// The length of a body according to the head of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentBody {
    /// No body, and no word about one.
    None,
    /// `Content-Length`.
    Bytes(u64),
    /// `Transfer-Encoding: chunked`.
    Chunked,
}

/// Appends the head of a request. The fields that say where the message ends are written here, from `body`, and
/// nowhere else; those in `fields` are left out. With `target` as it is sent: origin-form, absolute-form or
/// authority-form (RFC 9112 section 3.2).
///
/// # Errors
/// Fails if the method, the target or a field line is malformed. Nothing was appended then.
pub fn encode_request<'a>(
    out: &mut Vec<u8>,
    method: &str,
    target: &str,
    fields: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    body: SentBody,
) -> Result<(), String> {
    let begun = out.len();
    write(out, method, target, fields).inspect_err(|_| out.truncate(begun))?;
    match body {
        SentBody::None => {}
        SentBody::Bytes(bytes) => {
            out.extend_from_slice(b"content-length: ");
            out.extend_from_slice(itoa::Buffer::new().format(bytes).as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        SentBody::Chunked => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
    }
    out.extend_from_slice(b"\r\n");
    Ok(())
}

fn write<'a>(
    out: &mut Vec<u8>,
    method: &str,
    target: &str,
    fields: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
) -> Result<(), String> {
    if !is_token(method.as_bytes()) {
        return Err(format!("the method {method:?} is not a token"));
    }
    if target.is_empty() || target.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return Err(format!("the target {target:?} cannot be sent"));
    }
    for part in [method, " ", target, " HTTP/1.1\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
    for (name, value) in fields {
        if !is_token(name) {
            let name = String::from_utf8_lossy(name);
            return Err(format!("the field name {name:?} is not a token"));
        }
        if !is_field_value(value) {
            let name = String::from_utf8_lossy(name);
            return Err(format!("the value of {name} has control characters"));
        }
        if is_framing(name) {
            continue;
        }
        out.extend_from_slice(name);
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
    Ok(())
}

/// Reports whether the field frames a message or is about one connection only.
pub(crate) fn is_framing(name: &[u8]) -> bool {
    let all: [&[u8]; 9] = [
        b"connection",
        b"content-length",
        b"expect",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    ];
    all.iter().any(|framing| name.eq_ignore_ascii_case(framing))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(
        method: &str,
        target: &str,
        fields: &[(&str, &str)],
        body: SentBody,
    ) -> Result<String, String> {
        let mut out = Vec::new();
        let lines = fields.iter();
        let lines = lines.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let encoded = encode_request(&mut out, method, target, lines, body);
        assert!(encoded.is_ok() || out.is_empty());
        encoded.map(|()| String::from_utf8(out).expect("text"))
    }

    #[test]
    fn framing_is_written_from_the_body_alone() {
        let fields = [("Host", "h"), ("content-LENGTH", "7"), ("TE", "x")];
        let text = encode("POST", "/a?b", &fields, SentBody::Bytes(5));
        let expected = "POST /a?b HTTP/1.1\r\nHost: h\r\ncontent-length: 5\r\n\r\n";
        assert_eq!(text.as_deref(), Ok(expected));
        let text = encode("GET", "/", &[], SentBody::None);
        assert_eq!(text.as_deref(), Ok("GET / HTTP/1.1\r\n\r\n"));
        let text = encode("PUT", "/", &[], SentBody::Chunked).expect("a head");
        assert!(text.ends_with("\r\ntransfer-encoding: chunked\r\n\r\n"));
    }

    #[test]
    fn one_field_never_becomes_two() {
        for (name, value) in [
            ("a", "b\r\nc: d"),
            ("a: b\r\nc", "d"),
            ("", "x"),
            ("a", "\0"),
        ] {
            let encoded = encode("GET", "/", &[(name, value)], SentBody::None);
            assert!(encoded.is_err(), "{name:?} {value:?}");
        }
        assert!(encode("GET /", "/", &[], SentBody::None).is_err());
        assert!(encode("GET", "/ HTTP/1.1\r\n", &[], SentBody::None).is_err());
    }
}
