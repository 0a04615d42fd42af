//! Characters as SQLite reads them, ill-formed UTF-8 included, and sets of them that are quick to ask.

use std::collections::HashSet;

/// Up to this many bytes, a set is asked by looking at each of its characters.
const FEW_BYTES: usize = 16;
/// One more than the last code point of Unicode.
const CODE_POINTS: u32 = 0x11_0000;

/// A set of characters. To make one takes time in proportion to its characters, to ask one takes the same time always.
pub(crate) enum Chars {
    Few(Vec<u32>),
    Many {
        bits: Vec<u64>,
        /// The characters that ill-formed text may decode to.
        beyond: HashSet<u32>,
    },
}

impl Chars {
    /// The set of these characters, which take `bytes` as text.
    pub(crate) fn of(chars: impl Iterator<Item = u32>, bytes: usize) -> Self {
        if bytes <= FEW_BYTES {
            return Self::Few(chars.collect());
        }
        let mut bits = vec![0; CODE_POINTS.div_ceil(64) as usize];
        let mut beyond = HashSet::new();
        for char in chars {
            match bits.get_mut((char / 64) as usize) {
                Some(word) => *word |= 1 << (char % 64),
                None => {
                    beyond.insert(char);
                }
            }
        }
        Self::Many { bits, beyond }
    }

    /// Reports whether it is in the set.
    pub(crate) fn has(&self, char: u32) -> bool {
        match self {
            Self::Few(chars) => chars.contains(&char),
            Self::Many { bits, beyond } => match bits.get((char / 64) as usize) {
                Some(word) => word >> (char % 64) & 1 == 1,
                None => beyond.contains(&char),
            },
        }
    }
}

/// The length of the first character: its first byte and, where that begins several, all continuation bytes behind it.
pub(crate) fn skip(text: &[u8]) -> usize {
    match text {
        [first, rest @ ..] if *first >= 0xC0 => {
            1 + rest.iter().take_while(|&&byte| byte & 0xC0 == 0x80).count()
        }
        [_, ..] => 1,
        [] => 0,
    }
}

/// Reads characters one by one.
pub(crate) struct Read<'a>(pub(crate) &'a [u8]);

impl Iterator for Read<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let (char, rest) = self.0.split_at(skip(self.0));
        let (&first, more) = char.split_first()?;
        self.0 = rest;
        if first < 0xC0 {
            return Some(u32::from(first));
        }
        // As many bits of the first byte as are behind its ones and their zero belong to the character.
        let head = u32::from(first) & (0xFF >> (first.leading_ones() + 1));
        let code = more.iter().fold(head, |code, byte| {
            (code << 6).wrapping_add(u32::from(byte & 0x3F))
        });
        let is_replaced = code < 0x80 || code & 0xFFFF_F800 == 0xD800;
        Some(if is_replaced { 0xFFFD } else { code })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_read_as_sqlite_does() {
        let text = "aä€🛶\u{ffff}";
        let read: Vec<u32> = Read(text.as_bytes()).collect();
        let chars: Vec<u32> = text.chars().map(u32::from).collect();
        assert_eq!(read, chars);
        // A stray continuation, an overlong form, a beginning without its rest.
        let odd: Vec<u32> = Read(b"\xA4\xC0\x80\xC3a").collect();
        assert_eq!(odd, [0xA4, 0xFFFD, 0xFFFD, 0x61]);
    }

    #[test]
    fn a_set_has_what_was_put_in() {
        for filler in [0, 100] {
            let chars = [0x61, 0xE4, 0x1_F6F6, u32::MAX];
            let set = Chars::of(chars.into_iter(), chars.len() + filler);
            assert!(chars.iter().all(|&char| set.has(char)));
            assert!(
                ![0x62, 0xE5, 0x10_FFFF, u32::MAX - 1]
                    .iter()
                    .any(|&char| set.has(char))
            );
        }
    }
}
