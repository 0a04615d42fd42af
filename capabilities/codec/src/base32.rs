//! Base32, RFC 4648 section 6.

const DIGITS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Returns the base32 of bytes, padded with `=`.
pub(crate) fn encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(5) * 8);
    for group in bytes.chunks(5) {
        let mut padded = [0; 8];
        padded[3..3 + group.len()].copy_from_slice(group);
        let bits = u64::from_be_bytes(padded);
        let digits = (group.len() * 8).div_ceil(5);
        for at in 0..8 {
            let digit = DIGITS[(bits >> (35 - 5 * at)) as usize & 31];
            text.push(if at < digits { char::from(digit) } else { '=' });
        }
    }
    text
}

/// Returns the bytes of base32, padded or not, in either case; `None` if the text is not base32. Bits that belong to no
/// byte must be zero (section 3.5), so that each value has one text.
pub(crate) fn decoded(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    if padding > 0 && (padding > 6 || !text.len().is_multiple_of(8)) {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 5 / 8);
    for group in digits.as_bytes().chunks(8) {
        let count = match group.len() {
            8 => 5,
            7 => 4,
            5 => 3,
            4 => 2,
            2 => 1,
            _ => return None,
        };
        let mut bits = 0_u64;
        for digit in group {
            bits = bits << 5 | value_of(*digit)?;
        }
        let unused = group.len() * 5 - count * 8;
        if bits & ((1 << unused) - 1) != 0 {
            return None;
        }
        let bits = bits >> unused << (64 - count * 8);
        bytes.extend_from_slice(&bits.to_be_bytes()[..count]);
    }
    Some(bytes)
}

fn value_of(digit: u8) -> Option<u64> {
    match digit.to_ascii_uppercase() {
        letter @ b'A'..=b'Z' => Some(u64::from(letter - b'A')),
        number @ b'2'..=b'7' => Some(u64::from(number - b'2') + 26),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4648 section 10.
    const VECTORS: [(&str, &str); 7] = [
        ("", ""),
        ("f", "MY======"),
        ("fo", "MZXQ===="),
        ("foo", "MZXW6==="),
        ("foob", "MZXW6YQ="),
        ("fooba", "MZXW6YTB"),
        ("foobar", "MZXW6YTBOI======"),
    ];

    #[test]
    fn the_vectors_of_rfc_4648_are_written_and_read() {
        for (plain, text) in VECTORS {
            assert_eq!(encoded(plain.as_bytes()), text);
            let read = |text: &str| decoded(text).map(String::from_utf8);
            assert_eq!(read(text), Some(Ok(plain.to_owned())), "{text}");
            let bare = text.trim_end_matches('=').to_ascii_lowercase();
            assert_eq!(read(&bare), Some(Ok(plain.to_owned())), "{bare}");
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decoded(&encoded(&all)), Some(all));
    }

    #[test]
    fn texts_that_are_not_base32_are_nothing() {
        for text in [
            "M",
            "MZX",
            "MZXW6Y",
            "MY=",
            "MY=====",
            "MY=======",
            "MZXQ====MY======",
            "========",
            "M1",
            "M8",
            "MZXW6===\n",
            "MZ",
            "MZXW6YR=",
            "ſ2",
        ] {
            assert_eq!(decoded(text), None, "{text:?}");
        }
    }
}
