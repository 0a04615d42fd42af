//! The opening handshake (RFC 6455 section 4.2, RFC 8441 section 5).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};
use std::borrow::Cow;

/// A request that is not answered by a WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No WebSocket is asked for: 426.
    NotAsked,
    /// HTTP/1.0, whose connections do not change (RFC 9110 section 7.8): 426.
    Http10,
    /// A version that is not spoken here: 426, with the one that is.
    Version,
    /// No key, or one that is not 16 bytes in base64: 400.
    Key,
}

impl Refusal {
    /// Returns the status of the answer.
    pub fn status(self) -> u16 {
        match self {
            Self::NotAsked | Self::Http10 | Self::Version => 426,
            Self::Key => 400,
        }
    }

    /// Returns the text for the client.
    pub fn text(self) -> &'static str {
        match self {
            Self::NotAsked => "this address is a WebSocket: connect with Upgrade: websocket",
            Self::Http10 => "this address is a WebSocket: connect with HTTP/1.1, not HTTP/1.0",
            Self::Version => "only version 13 of the WebSocket protocol is spoken here",
            Self::Key => "Sec-WebSocket-Key must be 16 bytes in base64",
        }
    }
}

/// Reports whether a list of tokens has one, in any case.
fn has_token(value: Option<Cow<'_, [u8]>>, token: &str) -> bool {
    let value = value.unwrap_or_default();
    let mut parts = value.split(|byte| *byte == b',');
    parts.any(|part| part.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
}

/// Checks the fields of a request with the method GET; `field` gives the value of all lines with a name in lower case,
/// as [`Request::joined_header`](crate::Request::joined_header) does. Returns the value of `Sec-WebSocket-Accept`.
///
/// # Errors
/// The request is no opening handshake.
pub fn check_handshake<'a>(
    field: impl Fn(&str) -> Option<Cow<'a, [u8]>>,
) -> Result<String, Refusal> {
    if !has_token(field("upgrade"), "websocket") || !has_token(field("connection"), "upgrade") {
        return Err(Refusal::NotAsked);
    }
    check_version(&field)?;
    let key = field("sec-websocket-key").ok_or(Refusal::Key)?;
    let key = key.trim_ascii();
    match STANDARD.decode(key) {
        Ok(bytes) if bytes.len() == 16 => Ok(accept_value(key)),
        _ => Err(Refusal::Key),
    }
}

/// Checks the fields of an extended CONNECT (RFC 8441 section 5): it has no key.
///
/// # Errors
/// The version is not the one that is spoken here.
pub fn check_version<'a>(field: impl Fn(&str) -> Option<Cow<'a, [u8]>>) -> Result<(), Refusal> {
    match field("sec-websocket-version")
        .as_deref()
        .map(<[u8]>::trim_ascii)
    {
        Some(b"13") => Ok(()),
        _ => Err(Refusal::Version),
    }
}

/// Returns the value of `Sec-WebSocket-Accept` for a key (RFC 6455 section 4.2.2).
pub fn accept_value(key: &[u8]) -> String {
    const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    let mut hash = Sha1::new();
    hash.update(key);
    hash.update(GUID);
    STANDARD.encode(hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(changed: &str, value: Option<&'static str>) -> Result<String, Refusal> {
        check_handshake(|name| {
            if name == changed {
                return value.map(|value| value.as_bytes().into());
            }
            let value = match name {
                "upgrade" => b"foo, WebSocket".as_slice(),
                "connection" => b"keep-alive, Upgrade",
                "sec-websocket-version" => b"13",
                "sec-websocket-key" => b"dGhlIHNhbXBsZSBub25jZQ==",
                _ => return None,
            };
            Some(value.into())
        })
    }

    #[test]
    fn the_key_of_the_rfc_is_answered_as_there() {
        assert_eq!(
            check("", None).as_deref(),
            Ok("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        );
    }

    #[test]
    fn other_requests_are_refused() {
        for (name, value, refusal) in [
            ("upgrade", None, Refusal::NotAsked),
            ("connection", Some("close"), Refusal::NotAsked),
            ("sec-websocket-version", Some("8"), Refusal::Version),
            ("sec-websocket-key", None, Refusal::Key),
            ("sec-websocket-key", Some("c2hvcnQ="), Refusal::Key),
        ] {
            assert_eq!(check(name, value), Err(refusal), "{name}");
        }
    }
}
