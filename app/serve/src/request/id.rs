//! Ids of requests: taken from `X-Request-Id` where that can be trusted to be one, made here otherwise.

use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};

/// The header that carries an id, in both directions.
pub(crate) const HEADER: &str = "x-request-id";
/// The longest id that is taken over, in bytes.
const BYTES_MAX: usize = 128;
/// Spreads successive numbers over all digits, so that two ids differ at first sight. Odd, so no two numbers become
/// one.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Makes ids, each once: a worker counts from a random number on.
pub struct Ids(Cell<u64>);

/// Ids that no other worker or process is likely to make.
impl Default for Ids {
    fn default() -> Self {
        Self(Cell::new(RandomState::new().build_hasher().finish()))
    }
}

impl Ids {
    /// The next id: 16 hexadecimal digits.
    pub(crate) fn next(&self) -> Box<str> {
        let number = self.0.get();
        self.0.set(number.wrapping_add(1));
        format!("{:016x}", number.wrapping_mul(SPREAD)).into()
    }
}

/// An id that a client sent, if it can stand in a log and a header: visible ASCII, and not too long.
pub(crate) fn sane(sent: &[u8]) -> Option<&str> {
    let fits = (1..=BYTES_MAX).contains(&sent.len()) && sent.iter().all(u8::is_ascii_graphic);
    std::str::from_utf8(sent).ok().filter(|_| fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_ids_are_all_different_and_sane() {
        let (one, two) = (Ids::default(), Ids::default());
        let mut all: Vec<_> = (0..1000).flat_map(|_| [one.next(), two.next()]).collect();
        assert!(
            all.iter()
                .all(|id| id.len() == 16 && sane(id.as_bytes()).is_some())
        );
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 2000);
    }

    #[test]
    fn what_is_no_id_is_not_taken_over() {
        for sent in [
            &b""[..],
            b"a b",
            b"a\tb",
            b"a\x1b[2J",
            "é".as_bytes(),
            &[0xff],
            &[b'x'; 129],
        ] {
            assert_eq!(sane(sent), None, "{sent:?}");
        }
        assert_eq!(sane(&[b'x'; 128]).map(str::len), Some(128));
        assert_eq!(sane(b"f81d4fae-7dec:1/2"), Some("f81d4fae-7dec:1/2"));
    }
}
