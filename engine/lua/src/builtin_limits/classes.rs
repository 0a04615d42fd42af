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

/// What a letter after `%` stands for.
#[derive(Clone, Copy)]
pub(super) enum Class {
    /// Bytes that have one of these bits, or those that have none.
    Bits(u8, bool),
    /// This byte: `%z`, or a character that stands for itself.
    Byte(u8),
    /// Any byte but NUL: `%Z`.
    NotNul,
}

impl Class {
    /// The class that `%` and `letter` name.
    #[inline]
    pub(super) fn of(letter: u8) -> Self {
        let bits = match letter | 0x20 {
            b'a' => LOWER | UPPER,
            b'c' => CONTROL,
            b'd' => DIGIT,
            b'g' => LOWER | UPPER | DIGIT | PUNCTUATION,
            b'l' => LOWER,
            b'p' => PUNCTUATION,
            b's' => SPACE,
            b'u' => UPPER,
            b'w' => LOWER | UPPER | DIGIT,
            b'x' => HEX_DIGIT,
            b'z' if letter == b'z' => return Self::Byte(0),
            b'z' => return Self::NotNul,
            _ => return Self::Byte(letter),
        };
        // Only the letters of ASCII become one of these with the bit of small letters set.
        Self::Bits(bits, letter.is_ascii_lowercase())
    }

    #[inline]
    pub(super) fn has(self, c: u8) -> bool {
        match self {
            Self::Bits(bits, wanted) => (BITS[usize::from(c)] & bits != 0) == wanted,
            Self::Byte(byte) => c == byte,
            Self::NotNul => c != 0,
        }
    }
}
