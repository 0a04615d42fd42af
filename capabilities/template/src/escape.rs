//! Escaping of text for HTML and XML.

/// Writes text so that HTML and XML show it as it is, also in an attribute. minijinja writes the same.
#[inline]
pub(crate) fn escape_html(out: &mut Vec<u8>, text: &[u8]) {
    match first_special(text) {
        None => out.extend_from_slice(text),
        Some(at) => escape_from(out, text, at),
    }
}

/// Escapes text whose first special character is at `first`.
fn escape_from(out: &mut Vec<u8>, text: &[u8], first: usize) {
    let (mut start, mut at) = (0, first);
    while let Some(byte) = text.get(at) {
        out.extend_from_slice(&text[start..at]);
        let replacement: &[u8] = match byte {
            b'<' => b"&lt;",
            b'>' => b"&gt;",
            b'&' => b"&amp;",
            b'"' => b"&quot;",
            b'\'' => b"&#x27;",
            _ => b"&#x2f;",
        };
        out.extend_from_slice(replacement);
        start = at + 1;
        at = start + first_special(&text[start..]).unwrap_or(text.len() - start);
    }
    out.extend_from_slice(&text[start..]);
}

/// Returns the position of the first character that HTML does not show as it is.
#[inline]
pub(crate) fn first_special(text: &[u8]) -> Option<usize> {
    match has_special(text) {
        true => text.iter().position(|byte| IS_SPECIAL[usize::from(*byte)]),
        false => None,
    }
}

/// Looks at many bytes with a few vector instructions; at some of them twice, where that is quicker than to look at
/// each of the rest.
#[inline]
fn has_special(text: &[u8]) -> bool {
    let any = |block: [u8; 16]| {
        block
            .iter()
            .fold(false, |any, byte| any | is_special(*byte))
    };
    if let Some(last) = text.last_chunk::<16>() {
        return text.as_chunks::<16>().0.iter().any(|block| any(*block)) || any(*last);
    }
    text.iter().any(|byte| IS_SPECIAL[usize::from(*byte)])
}

const IS_SPECIAL: [bool; 256] = {
    let (mut table, mut byte) = ([false; 256], 0);
    while byte < table.len() {
        table[byte] = is_special(byte as u8);
        byte += 1;
    }
    table
};

#[inline]
const fn is_special(byte: u8) -> bool {
    matches!(byte, b'<' | b'>' | b'&' | b'"' | b'\'' | b'/')
}
