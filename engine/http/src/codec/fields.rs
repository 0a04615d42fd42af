//! The character classes of field lines (RFC 9110 section 5): tokens and field values.

/// True for each byte that may stand in a token (RFC 9110 section 5.6.2).
static TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(byte as u8,
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+'
            | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~');
        byte += 1;
    }
    table
};

/// Reports whether this byte may stand in a token.
#[inline]
pub(crate) fn is_token_byte(byte: u8) -> bool {
    TOKEN[byte as usize]
}

/// Reports whether these bytes are a token, so usable as a method or a field name.
pub fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&byte| is_token_byte(byte))
}

/// Reports whether this byte may stand in a field value: no control bytes but HTAB.
#[inline]
pub(crate) fn is_value_byte(byte: u8) -> bool {
    // Without branches, so that many bytes can be looked at together.
    (byte == b'\t') | ((byte >= b' ') & (byte != 0x7f))
}

/// Reports whether these bytes can be sent as a field value. Bytes from 0x80 on are allowed (obs-text), control
/// bytes other than HTAB are not: CR and LF would end the line, and NUL ends it for some recipients.
pub fn is_field_value(bytes: &[u8]) -> bool {
    let (blocks, rest) = bytes.as_chunks::<16>();
    let all = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(true, |all, byte| all & is_value_byte(*byte))
    };
    blocks.iter().all(|block| all(block)) && all(rest)
}

/// `value` without the spaces and tabs around it.
pub(crate) fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = value {
        value = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// The elements of a comma-separated list (RFC 9110 section 5.6.1), trimmed, empty ones included.
pub(crate) fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        assert!(
            is_token(b"X-Custom_1")
                && !is_token(b"")
                && !is_token(b"a b")
                && !is_token(b"a:")
                && !is_token("é".as_bytes())
        );
        assert!(is_field_value(b"a\tb \xff") && is_field_value(b""));
        for bad in [0u8, 1, b'\r', b'\n', 0x1b, 0x7f] {
            assert!(!is_field_value(&[b'a', bad]), "{bad}");
        }
        assert_eq!(
            list(b" a ,b\t, ,c").collect::<Vec<_>>(),
            [&b"a"[..], b"b", b"", b"c"]
        );
    }
}
