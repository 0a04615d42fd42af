//! Field names that a trailer section must not have.
//!
//! RFC 9110 section 6.5.1: a field that is needed before the content is read has no business behind it. We drop
//! trailers, but a proxy in front of us, or a server beside us, may merge them into the head and read another message.

/// In lower case, by the reason that the RFC gives. All names that begin with `If-` or `X-Forwarded-` are refused.
const REFUSED: [&[u8]; 34] = [
    // Message framing, and what the connection does next.
    b"connection",
    b"content-length",
    b"keep-alive",
    b"proxy-connection",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
    // Routing, and who sent the request by a proxy's word.
    b"forwarded",
    b"host",
    b"max-forwards",
    b"via",
    b"x-real-ip",
    // Request modifiers: controls and conditionals (the conditionals begin with `If-`).
    b"cache-control",
    b"expect",
    b"pragma",
    b"range",
    // Authentication; cookies are used for it.
    b"authorization",
    b"cookie",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"set-cookie",
    b"www-authenticate",
    // Response control data.
    b"age",
    b"allow",
    b"expires",
    b"location",
    b"retry-after",
    b"vary",
    b"warning",
    // How the content is processed.
    b"content-encoding",
    b"content-range",
    b"content-type",
    b"content-location",
];

const REFUSED_STARTS: [&[u8]; 2] = [b"if-", b"x-forwarded-"];

/// One byte more than the longest refused name, so that longer names which begin alike are told apart.
const KEPT_BYTES: usize = 20;

/// The first bytes of a trailer's name, in lower case. It is read byte by byte, so it is kept here.
#[derive(Debug, Default)]
pub(super) struct TrailerName {
    bytes: [u8; KEPT_BYTES],
    len: usize,
}

impl TrailerName {
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    pub(super) fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte.to_ascii_lowercase();
            self.len += 1;
        }
    }

    pub(super) fn is_refused(&self) -> bool {
        let name = &self.bytes[..self.len];
        REFUSED.contains(&name) || REFUSED_STARTS.iter().any(|start| name.starts_with(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(text: &str) -> bool {
        let mut name = TrailerName::default();
        text.bytes().for_each(|byte| name.push(byte));
        name.is_refused()
    }

    #[test]
    fn refused_names() {
        for name in REFUSED {
            assert!(name.len() < KEPT_BYTES);
            let name = String::from_utf8(name.to_vec()).unwrap();
            assert!(is_refused(&name.to_ascii_uppercase()), "{name}");
            assert!(!is_refused(&format!("{name}-x")), "{name}-x");
        }
        assert!(is_refused("If-Unmodified-Since") && is_refused("X-Forwarded-Proto"));
        for name in ["Content-Digest", "Server-Timing", "X-Sum", "Hosts", "ETag"] {
            assert!(!is_refused(name), "{name}");
        }
    }
}
