//! Escaping of text for HTML and XML.

/// The most bytes of a block.
const BLOCK_BYTES: usize = size_of::<Block>();

/// Short text with zeros behind it, as a number whose lowest byte comes first: a few instructions look at all of it.
pub(crate) type Block = u128;

/// Returns text as a block, if it is no longer than that.
#[inline]
pub(crate) fn block_of(text: &[u8]) -> Option<Block> {
    if text.len() > BLOCK_BYTES {
        return None;
    }
    // The first and the last bytes of a text meet or overlap.
    if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        let rest = 8 * (BLOCK_BYTES - text.len()) as u32;
        let last = u64::from_le_bytes(*last).checked_shr(rest).unwrap_or(0);
        return Some(block(u64::from_le_bytes(*first), last));
    }
    if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        let last = u64::from(u32::from_le_bytes(*last)) << (8 * (text.len() - 4));
        return Some(block(u64::from(u32::from_le_bytes(*first)) | last, 0));
    }
    let byte = |at: usize| u64::from(text[at]) << (8 * at);
    match text.len() {
        0 => Some(0),
        length => Some(block(byte(0) | byte(length / 2) | byte(length - 1), 0)),
    }
}

#[inline]
fn block(low: u64, high: u64) -> Block {
    Block::from(low) | Block::from(high) << 64
}

/// Calls `change` for both halves of a block.
#[inline]
fn halves<R>(block: Block, change: impl Fn(u64) -> R) -> (R, R) {
    (change(block as u64), change((block >> 64) as u64))
}

/// Each byte of a word.
const ONES: u64 = 0x0101_0101_0101_0101;

#[inline]
pub(crate) fn is_ascii(block: Block) -> bool {
    let (low, high) = halves(block, |word| word & (ONES << 7));
    low | high == 0
}

/// Returns ASCII in capitals or small letters.
#[inline]
pub(crate) fn cased(ascii: Block, is_upper: bool) -> Block {
    let first = u64::from(if is_upper { b'a' } else { b'A' });
    let (low, high) = halves(ascii, |word| {
        // The highest bit of each byte says whether it is from the first letter on, and whether it is behind the last.
        let from_first = word + ONES * (0x80 - first);
        let behind_last = word + ONES * (0x80 - 26 - first);
        word ^ (((from_first ^ behind_last) & (ONES << 7)) >> 2)
    });
    block(low, high)
}

/// Writes the first bytes of a block.
#[inline]
pub(crate) fn push_block(out: &mut Vec<u8>, block: Block, length: usize) {
    let end = out.len() + length;
    out.extend_from_slice(&block.to_le_bytes());
    out.truncate(end);
}

/// Writes text that is short as a rule.
#[inline]
pub(crate) fn push_short(out: &mut Vec<u8>, text: &[u8]) {
    match block_of(text) {
        Some(block) => push_block(out, block, text.len()),
        None => out.extend_from_slice(text),
    }
}

/// Writes text so that HTML and XML show it as it is, also in an attribute. minijinja writes the same.
#[inline]
pub(crate) fn escape_html(out: &mut Vec<u8>, text: &[u8]) {
    match block_of(text) {
        Some(block) => escape_block(out, block, text.len()),
        None => match first_special(text) {
            None => out.extend_from_slice(text),
            Some(at) => escape_from(out, text, at),
        },
    }
}

/// Writes the first bytes of a block so that HTML and XML show them as they are.
#[inline]
pub(crate) fn escape_block(out: &mut Vec<u8>, block: Block, length: usize) {
    match any_special(block) {
        false => push_block(out, block, length),
        true => escape_from(out, &block.to_le_bytes()[..length], 0),
    }
}

/// Escapes text that has no special character before `at`.
fn escape_from(out: &mut Vec<u8>, text: &[u8], at: usize) {
    let next = |from: usize| from + first_special(&text[from..]).unwrap_or(text.len() - from);
    let (mut start, mut at) = (0, next(at));
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
        at = next(start);
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

/// Looks at many bytes with a few instructions; at some of them twice, where that is quicker than to look at each of
/// the rest.
#[inline]
fn has_special(text: &[u8]) -> bool {
    if let Some(block) = block_of(text) {
        return any_special(block);
    }
    let any = |block: &[u8; BLOCK_BYTES]| any_special(Block::from_le_bytes(*block));
    text.as_chunks().0.iter().any(any) || text.last_chunk().is_some_and(any)
}

#[inline]
fn any_special(block: Block) -> bool {
    // Exact for the lowest byte that is zero; those above it may follow.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    let (low, high) = halves(block, |word| {
        // Each time two characters that differ in one bit.
        let (quote, slash) = (word & !(ONES << 2), word | ONES << 3);
        let angle = word | ONES << 1;
        zeros(quote ^ (ONES * u64::from(b'"')))
            | zeros(slash ^ (ONES * u64::from(b'/')))
            | zeros(angle ^ (ONES * u64::from(b'>')))
    });
    low | high != 0
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_is_escaped_byte_by_byte() {
        for length in 0..40 {
            for at in 0..length {
                for byte in 0..=255 {
                    let mut text = vec![b'a'; length];
                    text[at] = byte;
                    let mut out = Vec::new();
                    escape_html(&mut out, &text);
                    let is_same = out == text;
                    assert_eq!(is_same, !is_special(byte), "{byte} at {at} of {length}");
                }
            }
        }
    }

    #[test]
    fn blocks_hold_the_text_in_either_case() {
        for length in 0..=BLOCK_BYTES {
            for first in 0..128_u8 {
                let text: Vec<u8> = (0..length as u8).map(|at| (first + at) % 128).collect();
                let block = block_of(&text).expect("short");
                let pushed = |block| {
                    let mut out = Vec::new();
                    push_block(&mut out, block, length);
                    out
                };
                assert!(is_ascii(block));
                assert_eq!(pushed(block), text);
                assert_eq!(pushed(cased(block, true)), text.to_ascii_uppercase());
                assert_eq!(pushed(cased(block, false)), text.to_ascii_lowercase());
            }
        }
        assert!(block_of(&[b'a'; 17]).is_none());
        assert!(!is_ascii(block_of("caf\u{e9}".as_bytes()).expect("short")));
    }
}
