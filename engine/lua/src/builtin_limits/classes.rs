//! The character classes of Lua's patterns, as LuaJIT has them: ASCII only, whatever the locale.

const CONTROL: u8 = 0x01;
const SPACE: u8 = 0x02;
const PUNCTUATION: u8 = 0x04;
const DIGIT: u8 = 0x08;
const HEX_DIGIT: u8 = 0x10;
const UPPER: u8 = 0x20;
const LOWER: u8 = 0x40;

/// The classes that each byte belongs to.
static BITS: [u8; 256] = bits();

const fn bits() -> [u8; 256] {
    let mut all = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let c = byte as u8;
        let mut bits = 0;
        if c.is_ascii_control() {
            bits |= CONTROL;
        }
        if matches!(c, b' ' | 0x09..=0x0d) {
            bits |= SPACE;
        }
        if c.is_ascii_punctuation() {
            bits |= PUNCTUATION;
        }
        if c.is_ascii_digit() {
            bits |= DIGIT;
        }
        if c.is_ascii_hexdigit() {
            bits |= HEX_DIGIT;
        }
        if c.is_ascii_uppercase() {
            bits |= UPPER;
        }
        if c.is_ascii_lowercase() {
            bits |= LOWER;
        }
        all[byte] = bits;
        byte += 1;
    }
    all
}

/// The bits of the class that each letter names; none for what stands for itself.
static LETTERS: [u8; 256] = letters();

const fn letters() -> [u8; 256] {
    const NAMED: [(u8, u8); 10] = [
        (b'a', LOWER | UPPER),
        (b'c', CONTROL),
        (b'd', DIGIT),
        (b'g', LOWER | UPPER | DIGIT | PUNCTUATION),
        (b'l', LOWER),
        (b'p', PUNCTUATION),
        (b's', SPACE),
        (b'u', UPPER),
        (b'w', LOWER | UPPER | DIGIT),
        (b'x', HEX_DIGIT),
    ];
    let mut all = [0; 256];
    let mut i = 0;
    while i < NAMED.len() {
        let (letter, bits) = NAMED[i];
        all[letter as usize] = bits;
        all[letter.to_ascii_uppercase() as usize] = bits;
        i += 1;
    }
    all
}

/// The class of a letter after `%` stands for.
#[derive(Clone, Copy)]
pub(super) enum CharacterClass {
    /// Bytes that have one of these bits, or those that have none.
    Bits(u8, bool),
    /// This byte: `%z`, or a character that stands for itself.
    Byte(u8),
    /// Any byte but NUL: `%Z`.
    NotNul,
}

impl CharacterClass {
    /// The class that `%` and `letter` name.
    #[inline]
    pub(super) fn of(letter: u8) -> Self {
        match (LETTERS[usize::from(letter)], letter) {
            (0, b'z') => Self::Byte(0),
            (0, b'Z') => Self::NotNul,
            (0, literal) => Self::Byte(literal),
            (bits, letter) => Self::Bits(bits, letter.is_ascii_lowercase()),
        }
    }

    #[inline]
    pub(super) fn has(self, c: u8) -> bool {
        match self {
            Self::Bits(bits, wanted) => (BITS[usize::from(c)] & bits != 0) == wanted,
            Self::Byte(byte) => c == byte,
            Self::NotNul => c != 0,
        }
    }

    /// Returns the number of bytes at the start of `text` that are in the class.
    #[inline]
    pub(super) fn count(self, text: &[u8]) -> usize {
        match self {
            Self::Bits(bits, true) => count(text, |c| BITS[usize::from(c)] & bits != 0),
            Self::Bits(bits, false) => count(text, |c| BITS[usize::from(c)] & bits == 0),
            Self::Byte(byte) => count(text, |c| c == byte),
            Self::NotNul => count(text, |c| c != 0),
        }
    }
}

/// Returns the number of bytes at the start of `text` that are wanted.
#[inline]
fn count(text: &[u8], is_wanted: impl Fn(u8) -> bool) -> usize {
    let end = text.iter().position(|c| !is_wanted(*c));
    end.unwrap_or(text.len())
}

/// The content of a set, between its brackets.
#[derive(Clone, Copy)]
pub(super) struct CharacterSet<'a> {
    items: &'a [u8],
    /// The result for a byte in it; false after `^`.
    wanted: bool,
}

impl<'a> CharacterSet<'a> {
    #[inline]
    pub(super) fn new(content: &'a [u8]) -> Self {
        match content.split_first() {
            Some((b'^', items)) => Self {
                items,
                wanted: false,
            },
            _ => Self {
                items: content,
                wanted: true,
            },
        }
    }

    #[inline]
    pub(super) fn has(self, c: u8) -> bool {
        let set = self.items;
        let mut i = 0;
        while let Some(&first) = set.get(i) {
            if first == b'%' {
                // Where a range ends with the first of two `%`, the second one takes the bracket as its letter.
                let letter = set.get(i + 1).copied().unwrap_or(b']');
                if CharacterClass::of(letter).has(c) {
                    return self.wanted;
                }
                i += 2;
            } else if let Some([b'-', last]) = set.get(i + 1..i + 3) {
                if first <= c && c <= *last {
                    return self.wanted;
                }
                i += 3;
            } else {
                if first == c {
                    return self.wanted;
                }
                i += 1;
            }
        }
        !self.wanted
    }
}
