//! `JSON.parse`, with a check of the names in longer texts.

use crate::values::property_names::check::{NameCheck, SameHash};
use crate::vm::sys::{
    Cx, Failure, RawValue, arguments, is_object, is_string, native, throw_syntax,
};
use memchr::{memchr, memchr2};
use rquickjs::qjs;
use std::ffi::c_int;

/// The longest text that is not checked, in characters: names of such a text that share a hash cost little.
const UNCHECKED_TEXT_LENGTH: i64 = 16 * 1024;

/// Looks at the names of a longer text before QuickJS reads it.
// SAFETY: called by QuickJS alone, with a context that has a core, `argc` values and one datum.
pub(super) unsafe extern "C" fn parse(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    argc: c_int,
    argv: *mut qjs::JSValue,
    _: c_int,
    data: *mut qjs::JSValue,
) -> qjs::JSValue {
    // SAFETY: QuickJS calls this with a context that is alive until it returns.
    let cx = unsafe { Cx::from_raw(ctx) };
    native(cx, |cx| {
        // SAFETY: QuickJS passes `argc` values, and the function was made with one datum. All are held until this
        // returns.
        let (this, args, original) = unsafe {
            let this = RawValue::from_js(this);
            (this, arguments(argc, argv), RawValue::from_js(*data))
        };
        let [text, rest @ ..] = args else {
            return Ok(cx.call(original, this, args)?);
        };
        if is_string(*text) {
            check(cx, *text)?;
        } else if is_object(*text) {
            // The text that QuickJS reads is the one that was checked.
            let text = cx.to_string(*text)?;
            check(cx, text.raw())?;
            return Ok(cx.call(original, this, &[&[text.raw()], rest].concat())?);
        }
        Ok(cx.call(original, this, args)?)
    })
}

/// Throws a `SyntaxError` for a text with too many names of the same hash.
#[inline]
fn check(cx: Cx<'_>, text: RawValue<'_>) -> Result<(), Failure> {
    let layout = cx.text_layout();
    let length = match layout.and_then(|layout| layout.length(&cx.dup(text))) {
        Some(length) => length as i64,
        None => cx.length(text)?,
    };
    if length <= UNCHECKED_TEXT_LENGTH {
        return Ok(());
    }
    match cx.with_bytes(text, check_names)? {
        Ok(()) => Ok(()),
        Err(SameHash) => Err(throw_syntax(cx, c"more than 256 names with the same hash")),
    }
}

/// Checks the names of a JSON text: the strings before a colon. Stops at the first string that QuickJS does not read.
fn check_names(text: &[u8]) -> Result<(), SameHash> {
    let mut names = NameCheck::default();
    let mut plain = Vec::new();
    let mut rest = text;
    while let Some(quote) = memchr(b'"', rest) {
        let start = &rest[quote + 1..];
        let Some((length, is_escaped)) = string_length(start) else {
            return Ok(());
        };
        let string = &start[..length];
        rest = &start[length + 1..];
        if rest.trim_ascii_start().first() != Some(&b':') {
            continue;
        }
        if !is_escaped {
            names.add(string)?;
            continue;
        }
        plain.clear();
        if unescape(string, &mut plain).is_none() {
            return Ok(());
        }
        names.add(&plain)?;
    }
    Ok(())
}

/// Returns the number of bytes up to the quote that ends a string, and reports whether it has escapes.
#[inline]
fn string_length(start: &[u8]) -> Option<(usize, bool)> {
    let (mut at, mut is_escaped) = (0, false);
    loop {
        at += memchr2(b'"', b'\\', start.get(at..)?)?;
        if start[at] == b'"' {
            return Some((at, is_escaped));
        }
        is_escaped = true;
        at += 2;
    }
}

/// Appends a string without its escapes, in UTF-8. Surrogates without a partner have three bytes each. `None` for an
/// escape that JSON does not have.
fn unescape(mut string: &[u8], plain: &mut Vec<u8>) -> Option<()> {
    while let Some(at) = memchr(b'\\', string) {
        plain.extend_from_slice(&string[..at]);
        let (escape, after) = string[at + 1..].split_first()?;
        string = after;
        plain.push(match escape {
            b'"' | b'\\' | b'/' => *escape,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let mut unit = hex(string)?;
                string = &string[4..];
                if (0xd800..0xdc00).contains(&unit)
                    && let Some(low) = string.strip_prefix(b"\\u").and_then(hex)
                    && (0xdc00..0xe000).contains(&low)
                {
                    unit = 0x1_0000 + ((unit & 0x3ff) << 10) + (low & 0x3ff);
                    string = &string[6..];
                }
                push(plain, unit);
                continue;
            }
            _ => return None,
        });
    }
    plain.extend_from_slice(string);
    Some(())
}

/// The number of the four hexadecimal digits at the start.
fn hex(text: &[u8]) -> Option<u32> {
    let mut digits = text.get(..4)?.iter();
    digits.try_fold(0, |sum, digit| {
        Some(sum << 4 | char::from(*digit).to_digit(16)?)
    })
}

/// Appends a code point in UTF-8, surrogates too.
fn push(plain: &mut Vec<u8>, code: u32) {
    let more = |shift: u32| (0x80 | code >> shift & 0x3f) as u8;
    match code {
        0..0x80 => plain.push(code as u8),
        0x80..0x800 => plain.extend([(0xc0 | code >> 6) as u8, more(0)]),
        0x800..0x1_0000 => plain.extend([(0xe0 | code >> 12) as u8, more(6), more(0)]),
        _ => plain.extend([(0xf0 | code >> 18) as u8, more(12), more(6), more(0)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_as_quickjs_reads_them() {
        for (string, expected) in [
            (r"a\u0062c\n", Some(&b"abc\n"[..])),
            (r"\u00e9\/\\", Some("é/\\".as_bytes())),
            (r"\ud83d\ude00!", Some("😀!".as_bytes())),
            (r"\ud83dx", Some(&[0xed, 0xa0, 0xbd, b'x'])),
            (r"\u00g0", None),
            (r"\x", None),
        ] {
            let mut plain = Vec::new();
            let done = unescape(string.as_bytes(), &mut plain);
            assert_eq!(done.map(|()| &plain[..]), expected, "{string}");
        }
    }

    #[test]
    fn strings_end_at_the_first_quote_without_a_backslash() {
        assert_eq!(string_length(b"ab\": 1"), Some((2, false)));
        assert_eq!(string_length(br#"a\"b\\" "#), Some((6, true)));
        assert_eq!(string_length(br#"a\""#), None);
        assert_eq!(string_length(br"a\"), None);
    }
}
