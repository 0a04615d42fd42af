//! PEM, RFC 7468: a block of base64 between two lines that name it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write;

/// The label and the bytes of a text that is one block.
pub(crate) fn decode(text: &[u8]) -> Option<(&str, Vec<u8>)> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let (label, rest) = text.strip_prefix("-----BEGIN ")?.split_once("-----")?;
    let end = format!("-----END {label}-----");
    let body = rest.strip_suffix(end.as_str())?;
    let body: String = body.split_ascii_whitespace().collect();
    Some((label, STANDARD.decode(body).ok()?))
}

/// Returns the bytes of a certificate, the first one if the text is a chain of them.
pub(crate) fn first_certificate(text: &[u8]) -> Option<Vec<u8>> {
    const END: &str = "-----END CERTIFICATE-----";
    let text = std::str::from_utf8(text).ok()?;
    let (first, _) = text.split_at_checked(text.find(END)? + END.len())?;
    match decode(first.as_bytes())? {
        ("CERTIFICATE", der) => Some(der),
        _ => None,
    }
}

/// Reports whether a text claims to be PEM.
pub(crate) fn is_pem(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(b"-----BEGIN ")
}

/// A block of these bytes.
pub(crate) fn encode(label: &str, bytes: &[u8]) -> String {
    const LINE: usize = 64;
    let body = STANDARD.encode(bytes);
    let mut text = format!("-----BEGIN {label}-----\n");
    let mut rest = body.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(LINE));
        let _ = writeln!(text, "{line}");
        rest = after;
    }
    let _ = writeln!(text, "-----END {label}-----");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_certificate_of_a_chain_is_read() {
        let first = encode("CERTIFICATE", b"first");
        let chain = format!("\n{first}{}", encode("CERTIFICATE", b"second"));
        for text in [&first, &chain] {
            assert_eq!(first_certificate(text.as_bytes()), Some(b"first".to_vec()));
        }
        let key = encode("PUBLIC KEY", b"key");
        for text in [
            &key,
            &format!("{key}{first}"),
            "",
            "-----END CERTIFICATE-----",
        ] {
            assert_eq!(first_certificate(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_block_round_trips_and_nothing_else_is_read() {
        for length in [0, 1, 48, 49, 500] {
            let bytes: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let text = encode("PUBLIC KEY", &bytes);
            assert_eq!(decode(text.as_bytes()), Some(("PUBLIC KEY", bytes.clone())));
            let windows = text.replace('\n', "\r\n");
            assert_eq!(decode(windows.as_bytes()), Some(("PUBLIC KEY", bytes)));
        }
        for text in [
            "",
            "abc",
            "-----BEGIN A-----\nYWJj\n-----END B-----",
            "-----BEGIN A-----\nYW!j\n-----END A-----",
            "-----BEGIN A-----\nYWJj",
        ] {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
    }
}
