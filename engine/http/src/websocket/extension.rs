//! The negotiation of permessage-deflate (RFC 7692 section 7).

/// The agreed parameters. Neither end keeps a context from one message to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deflate {
    /// The base-two logarithm of the largest window that the server uses: 9 to 15.
    pub window_bits: u8,
    /// True if the client asked for a smaller window, which the answer repeats.
    is_asked: bool,
}

impl Deflate {
    /// Returns the value of `Sec-WebSocket-Extensions` for the answer.
    pub fn answer(self) -> String {
        let mut value =
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover".to_owned();
        if self.is_asked {
            value.push_str(&format!("; server_max_window_bits={}", self.window_bits));
        }
        value
    }
}

/// Chooses the first offer of a `Sec-WebSocket-Extensions` that can be met. A window of 256 bytes cannot: zlib has
/// none.
pub fn negotiate(offers: &[u8]) -> Option<Deflate> {
    let offers = std::str::from_utf8(offers).ok()?;
    offers.split(',').find_map(accepted)
}

fn accepted(offer: &str) -> Option<Deflate> {
    let mut parts = offer.split(';').map(str::trim);
    if parts.next() != Some("permessage-deflate") {
        return None;
    }
    let (mut window_bits, mut is_asked) = (15, false);
    let mut seen = Vec::new();
    for part in parts {
        let (name, value) = match part.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim().trim_matches('"'))),
            None => (part, None),
        };
        if seen.contains(&name) {
            return None;
        }
        seen.push(name);
        match (name, value) {
            ("server_no_context_takeover" | "client_no_context_takeover", None) => {}
            // The client's own window is never larger than the one that is read with.
            ("client_max_window_bits", None) => {}
            ("client_max_window_bits", Some(bits)) => {
                bits_of(bits)?;
            }
            ("server_max_window_bits", Some(bits)) => {
                window_bits = bits_of(bits)?;
                is_asked = true;
            }
            _ => return None,
        }
    }
    (window_bits >= 9).then_some(Deflate {
        window_bits,
        is_asked,
    })
}

/// Reads 8 to 15, without a leading zero.
fn bits_of(value: &str) -> Option<u8> {
    let bits = value.parse().ok().filter(|bits| (8..=15).contains(bits));
    bits.filter(|_| !value.starts_with(['0', '+']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_offer_that_can_be_met_is_taken() {
        let bits = |offers: &str| negotiate(offers.as_bytes()).map(|deflate| deflate.window_bits);
        assert_eq!(bits("permessage-deflate"), Some(15));
        assert_eq!(
            bits("x, permessage-deflate; client_max_window_bits"),
            Some(15)
        );
        assert_eq!(
            bits("permessage-deflate; server_max_window_bits=10"),
            Some(10)
        );
        let second = "permessage-deflate; server_max_window_bits=8, permessage-deflate";
        assert_eq!(bits(second), Some(15));
        for refused in [
            "permessage-deflate; unknown",
            "permessage-deflate; server_max_window_bits",
            "permessage-deflate; server_max_window_bits=16",
            "permessage-deflate; server_max_window_bits=09",
            "permessage-deflate; client_max_window_bits=10; client_max_window_bits=10",
            "permessage-deflate; server_no_context_takeover=1",
            "x-webkit-deflate-frame",
        ] {
            assert_eq!(bits(refused), None, "{refused}");
        }
        let answer = negotiate(b"permessage-deflate; server_max_window_bits=10").unwrap();
        assert!(answer.answer().ends_with("server_max_window_bits=10"));
    }
}
