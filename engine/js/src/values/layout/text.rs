//! The place of a string's characters.
//!
//! QuickJS's own function shows the bytes of a string after it has counted those that are no ASCII, at a quarter of the
//! speed at which they could be copied. Most strings are ASCII and lie in one piece behind two words that say so.

use crate::vm::probe::Probe;
use crate::vm::sys::{Cx, RawValue, Thrown, Val, address, tag};
use rquickjs::qjs;

/// Says that strings lie where they are expected.
#[derive(Clone, Copy)]
pub(crate) struct TextLayout {
    /// The start of the characters: behind the length, a word about kind and hash, and what else there is.
    header_bytes: usize,
}

/// The longest string of [`TextLayout::short_ascii_of`].
const SHORT_BYTES_MAX: usize = 1024;

/// No header is longer.
const HEADER_BYTES_MAX: usize = 64;

/// The bit of the first word that says that characters have two bytes; the others are the length.
const WIDE: u32 = 1 << 31;

/// The bits of the second word that say that the characters lie elsewhere.
const ELSEWHERE: u32 = 0b11 << 28;

impl TextLayout {
    /// Looks for the characters of strings that are known. `None` where they are not in place.
    pub(crate) fn find(probe: &Probe) -> Option<Self> {
        let cx = probe.cx();
        let look = || -> Result<Option<Self>, Thrown> {
            let Some(header_bytes) = Self::header_bytes(cx, &cx.string("probe")?) else {
                return Ok(None);
            };
            let layout = Self { header_bytes };
            let is_narrow = |text: &str, expected: &[u8]| -> Result<bool, Thrown> {
                Ok(layout.probed(probe, &cx.string(text)?) == Some(Some(expected.to_vec())))
            };
            // A part of another string lies there, or says that it does not.
            let part = cx.eval(c"'0123456789'.repeat(2000).slice(3, 19990)", c"<probe>")?;
            let is_part_found = match layout.probed(probe, &part) {
                Some(Some(bytes)) => bytes.len() == 19_987 && bytes.starts_with(b"345"),
                Some(None) => true,
                None => tag(part.raw()) != qjs::JS_TAG_STRING,
            };
            let is_found = is_narrow("probe", b"probe")?
                && is_narrow("a longer probe", b"a longer probe")?
                && is_narrow("prob\u{e9}", b"prob\xe9")?
                && layout.probed(probe, &cx.string("prob\u{20ac}")?) == Some(None)
                && is_part_found;
            Ok(is_found.then_some(layout))
        };
        look().unwrap_or_default()
    }

    /// Returns the distance of the characters of a plain string from its beginning, by QuickJS's own function.
    fn header_bytes(cx: Cx<'_>, plain: &Val) -> Option<usize> {
        // SAFETY: the string is alive; its text is released and not looked at.
        let text = unsafe {
            let text = qjs::JS_ToCStringLen(cx.raw(), std::ptr::null_mut(), plain.js());
            qjs::JS_FreeCString(cx.raw(), text);
            text
        };
        let distance = (text as usize).wrapping_sub(address(plain.raw()) as usize);
        (size_of::<u64>()..=HEADER_BYTES_MAX)
            .contains(&distance)
            .then_some(distance)
    }

    /// The characters of a string as [`Self::narrow`] would find them, read only where the probe knows the memory.
    /// `None` if the value is not such a string, or if anything lies elsewhere.
    fn probed(self, probe: &Probe, value: &Val) -> Option<Option<Vec<u8>>> {
        if tag(value.raw()) != qjs::JS_TAG_STRING {
            return None;
        }
        let start = address(value.raw()).addr();
        let (length, kind) = probe.int(start).zip(probe.int(start + size_of::<u32>()))?;
        if length & WIDE != 0 || kind & ELSEWHERE != 0 {
            return Some(None);
        }
        probe
            .bytes(start + self.header_bytes, length as usize)
            .map(Some)
    }

    /// The characters of a string that keeps them itself, each as one byte (U+0000 to U+00FF). They last as long as the
    /// string.
    #[inline]
    fn narrow(self, value: RawValue<'_>) -> Option<&[u8]> {
        if tag(value) != qjs::JS_TAG_STRING {
            return None;
        }
        // SAFETY: a string has this header, and so many bytes behind it if it says that they are narrow and its own
        // (`find`). It is alive and does not change as long as it is held.
        unsafe {
            let start = address(value).cast::<u8>();
            let [length, kind] = start.cast::<[u32; 2]>().read();
            if length & WIDE != 0 || kind & ELSEWHERE != 0 {
                return None;
            }
            let bytes = std::slice::from_raw_parts(start.add(self.header_bytes), length as usize);
            Some(bytes)
        }
    }

    /// The bytes of a string that is ASCII and keeps them itself.
    #[inline]
    pub(crate) fn ascii(self, value: &Val) -> Option<&[u8]> {
        self.ascii_of(value.raw())
    }

    /// The bytes of a value that is such a string.
    #[inline]
    pub(crate) fn ascii_of(self, value: RawValue<'_>) -> Option<&[u8]> {
        // SAFETY: the bytes are those of a string, behind its header, which has eight bytes or more (`header_bytes`).
        self.narrow(value)
            .filter(|bytes| unsafe { is_ascii(bytes) })
    }

    /// Returns the bytes of a value that is such a string of at most [`SHORT_BYTES_MAX`] bytes: others are not read.
    #[inline]
    pub(crate) fn short_ascii_of(self, value: RawValue<'_>) -> Option<&[u8]> {
        let is_short = |bytes: &&[u8]| bytes.len() <= SHORT_BYTES_MAX;
        // SAFETY: the bytes are those of a string, behind its header, which has eight bytes or more (`header_bytes`).
        self.narrow(value)
            .filter(is_short)
            .filter(|bytes| unsafe { is_ascii(bytes) })
    }

    /// Returns the length of a string that has one byte for each character and keeps them itself.
    #[inline]
    pub(crate) fn length(self, value: &Val) -> Option<usize> {
        self.narrow(value.raw()).map(<[u8]>::len)
    }

    /// Returns the bytes of a string that was ASCII before, as strings do not change.
    pub(crate) fn still_ascii(self, value: &Val) -> &[u8] {
        self.narrow(value.raw()).unwrap_or_default()
    }
}

/// Reports whether bytes are ASCII. Most strings are short, and a loop that looks at each byte takes longer than all
/// else that is done with them.
///
/// # Safety
/// There must be eight bytes in front of them that can be read.
#[inline]
unsafe fn is_ascii(bytes: &[u8]) -> bool {
    const WORD: usize = size_of::<u64>();
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    if bytes.len() > 2 * WORD {
        return bytes.is_ascii();
    }
    // SAFETY: the last word ends where the bytes end, and may begin before them; the first one is read if it is within.
    unsafe {
        let last = bytes.as_ptr().add(bytes.len()).sub(WORD).cast::<u64>();
        let last = u64::from_le(last.read_unaligned());
        if bytes.len() >= WORD {
            let first = bytes.as_ptr().cast::<u64>().read_unaligned();
            return (first | last) & HIGH_BITS == 0;
        }
        // The lower bytes of the word lie in front of the text, and nothing may depend on them. Two steps: a word
        // cannot be shifted by 64 bits.
        let others = u8::BITS as usize * (WORD - 1 - bytes.len());
        (last >> others >> u8::BITS) & HIGH_BITS == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_ascii_at_every_length() {
        for length in 0..40 {
            // The bytes in front are not ASCII.
            let mut text = vec![0xff; 8 + length];
            text[8..].fill(b'a');
            // SAFETY: the slice begins behind eight bytes of `text`, which may be read.
            assert!(unsafe { is_ascii(&text[8..]) }, "{length}");
            for at in 0..length {
                let mut other = vec![b'a'; 8 + length];
                other[8 + at] = 0x80;
                // SAFETY: the slice begins behind eight bytes of `other`, which may be read.
                assert!(!unsafe { is_ascii(&other[8..]) }, "{at} of {length}");
            }
        }
    }

    #[test]
    fn the_place_of_characters_is_found() {
        let probe = Probe::new().expect("memory");
        let (cx, layout) = (probe.cx(), TextLayout::find(&probe).expect("in place"));
        let of = |source| cx.eval(source, c"<test>").expect("a string");
        let long = of(c"'0123456789'.repeat(1000)");
        assert_eq!(layout.ascii(&long).map(<[u8]>::len), Some(10_000));
        for other in [c"'\\u00e9'", c"'\\u20ac'", c"5", c"({})", c"Symbol('x')"] {
            assert_eq!(layout.ascii(&of(other)), None, "{other:?}");
        }
        // A rope, and a part of another string.
        for other in [
            c"let a = 'x'.repeat(9000), b = 'y'.repeat(9000); a + b",
            c"'0123456789'.repeat(2000).slice(3, 19990)",
        ] {
            assert!(
                layout
                    .ascii(&of(other))
                    .is_none_or(|bytes| bytes.len() > 9000)
            );
        }
    }
}
