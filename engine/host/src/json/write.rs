//! The pieces from which engines write JSON straight into an output buffer.

use crate::clock::IsoTime;
use crate::error::Error;
use crate::rows::{Cell, Rows};
use crate::value::Value;
use std::io::Write;

/// The escape of each byte of a string: up to six bytes, and in the last one how many.
static ESCAPED: [[u8; 8]; 256] = {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (high, low) = (HEX[byte >> 4], HEX[byte & 15]);
        table[byte] = match byte as u8 {
            0x08 => [b'\\', b'b', 0, 0, 0, 0, 0, 2],
            0x09 => [b'\\', b't', 0, 0, 0, 0, 0, 2],
            0x0a => [b'\\', b'n', 0, 0, 0, 0, 0, 2],
            0x0c => [b'\\', b'f', 0, 0, 0, 0, 0, 2],
            0x0d => [b'\\', b'r', 0, 0, 0, 0, 0, 2],
            0x00..0x20 => [b'\\', b'u', b'0', b'0', high, low, 0, 6],
            plain @ (b'"' | b'\\') => [b'\\', plain, 0, 0, 0, 0, 0, 2],
            plain => [plain, 0, 0, 0, 0, 0, 0, 1],
        };
        byte += 1;
    }
    table
};

/// The part of a string that is escaped at a time.
const PIECE: usize = 32;
/// Room for an escaped piece; a power of two, so that a masked position is always within.
const ROOM: usize = (PIECE * 6).next_power_of_two();

/// Writes `text` in quotes. False, with nothing written, if it is not UTF-8.
#[inline]
pub fn write_string(out: &mut Vec<u8>, text: &[u8]) -> bool {
    let (clean, rest) = text.split_at(plain_bytes(text));
    if !rest.is_ascii() && std::str::from_utf8(rest).is_err() {
        return false;
    }
    out.reserve(text.len() + 2);
    out.push(b'"');
    out.extend_from_slice(clean);
    if !rest.is_empty() {
        write_escaped(out, rest);
    }
    out.push(b'"');
    true
}

/// Returns the number of bytes before the first that is not ASCII or needs an escape.
#[inline]
pub(super) fn plain_bytes(text: &[u8]) -> usize {
    /// The byte in all eight places.
    const fn all(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    let (words, rest) = text.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        // The lowest byte comes first. A subtraction sets the upper bit of a byte that it takes below zero; it may
        // borrow from the bytes above, but those come later.
        let word = u64::from_le_bytes(*word);
        let control = word.wrapping_sub(all(0x20));
        let quote = (word ^ all(b'"')).wrapping_sub(all(1));
        let backslash = (word ^ all(b'\\')).wrapping_sub(all(1));
        let special = (word | control | quote | backslash) & all(0x80);
        if special != 0 {
            return 8 * at + special.trailing_zeros() as usize / 8;
        }
    }
    let is_plain = |byte: &u8| (0x20..0x80).contains(byte) & (*byte != b'"') & (*byte != b'\\');
    8 * words.len() + rest.iter().take_while(|byte| is_plain(byte)).count()
}

/// Writes UTF-8 with its escapes, piece by piece: where there is one, there are often many.
fn write_escaped(out: &mut Vec<u8>, mut text: &[u8]) {
    let mut piece = [0; ROOM + 8];
    loop {
        let (bytes, rest) = text.split_at(PIECE.min(text.len()));
        let mut end = 0;
        for &byte in bytes {
            // All eight bytes, and then as many as are meant: whether a byte is escaped cannot be foreseen.
            let escaped = ESCAPED[usize::from(byte)];
            let at = end & (ROOM - 1);
            piece[at..at + 8].copy_from_slice(&escaped);
            end += usize::from(escaped[7]);
        }
        out.extend_from_slice(&piece[..end]);
        if rest.is_empty() {
            return;
        }
        let plain = plain_bytes(rest);
        out.extend_from_slice(&rest[..plain]);
        text = &rest[plain..];
    }
}

/// Writes an integer.
#[inline]
pub fn write_i64(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Writes a number with the fewest digits that give it back; whole numbers without a fraction. False, with nothing
/// written, for NaN and infinity, which JSON does not have.
#[inline]
pub fn write_f64(out: &mut Vec<u8>, value: f64) -> bool {
    /// Up to here every whole number is exact.
    const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0
        && value.abs() <= WHOLE_MAX
        && !(value == 0.0 && value.is_sign_negative())
    {
        write_i64(out, value as i64);
        return true;
    }
    if !value.is_finite() {
        return false;
    }
    out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
    true
}

/// Returns the error for a value that JSON does not have; `what` is what it is, with its article.
#[cold]
pub fn no_json(what: &str) -> Error {
    Error::script(format!("{what} has no place in JSON"))
}

/// Returns the error with advice on what to write instead.
#[cold]
pub fn no_json_but(what: &str, advice: &str) -> Error {
    Error::script(format!("{what} has no place in JSON; {advice}"))
}

/// The name of a request that stands where JSON is wanted, and what to write instead.
pub const REQUEST: [&str; 2] = ["a Request", "write the fields that are meant"];

/// The name of a native object.
pub const OBJECT: [&str; 2] = ["a native object", "write the values that are meant"];

/// Writes a [`Value`]; rows become an array of objects. Bytes, NaN and infinity are errors.
pub fn write_value(out: &mut Vec<u8>, value: &Value, depth_left: usize) -> Result<(), Error> {
    let Some(depth_left) = depth_left.checked_sub(1) else {
        return Err(no_json("a value that nests too deeply"));
    };
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(number) => write_i64(out, *number),
        Value::Float(number) => {
            if !write_f64(out, *number) {
                return Err(no_json(&number.to_string()));
            }
        }
        Value::Text(text) => {
            write_string(out, text.as_bytes());
        }
        Value::Bytes(_) => return Err(no_json("a string that is not UTF-8")),
        Value::Object(_) => {
            let [what, advice] = OBJECT;
            return Err(no_json_but(what, advice));
        }
        Value::List(items) => {
            write_sequence(
                out,
                items,
                |out, item| write_value(out, item, depth_left),
                (b'[', b']'),
            )?;
        }
        Value::Map(members) => {
            write_sequence(
                out,
                members,
                |out, (key, member)| write_member(out, key, member, depth_left),
                (b'{', b'}'),
            )?;
        }
        Value::Rows(rows) => {
            let rows_of: Vec<usize> = (0..rows.len()).collect();
            write_sequence(
                out,
                &rows_of,
                |out, row| write_row(out, rows, *row),
                (b'[', b']'),
            )?;
        }
        Value::Row(rows) if rows.is_empty() => out.extend_from_slice(b"null"),
        Value::Row(rows) => write_row(out, rows, 0)?,
    }
    Ok(())
}

/// The most milliseconds between 1970 and a date of JavaScript.
const DATE_MILLIS_MAX: u64 = 8_640_000_000_000_000;

fn write_row(out: &mut Vec<u8>, rows: &Rows, row: usize) -> Result<(), Error> {
    let columns: Vec<usize> = (0..rows.columns().len()).collect();
    let write_cell = |out: &mut Vec<u8>, column: &usize| {
        write_string(out, rows.columns()[*column].as_bytes());
        out.push(b':');
        match rows.cell(row, *column) {
            Cell::Null => out.extend_from_slice(b"null"),
            Cell::Int(number) => write_i64(out, number),
            Cell::Float(number) if write_f64(out, number) => {}
            Cell::Float(number) => return Err(no_json(&number.to_string())),
            // JavaScript has no such date, and writes an invalid one so.
            Cell::Date(millis) if millis.unsigned_abs() > DATE_MILLIS_MAX => {
                out.extend_from_slice(b"null");
            }
            // Memory takes everything.
            Cell::Date(millis) => drop(write!(out, "\"{}\"", IsoTime(millis))),
            Cell::Text(text) => {
                write_string(out, text.as_bytes());
            }
            Cell::Bytes(_) => return Err(no_json("a string that is not UTF-8")),
        }
        Ok(())
    };
    write_sequence(out, &columns, write_cell, (b'{', b'}'))
}

fn write_member(
    out: &mut Vec<u8>,
    key: &str,
    value: &Value,
    depth_left: usize,
) -> Result<(), Error> {
    write_string(out, key.as_bytes());
    out.push(b':');
    write_value(out, value, depth_left)
}

fn write_sequence<T>(
    out: &mut Vec<u8>,
    items: &[T],
    mut write: impl FnMut(&mut Vec<u8>, &T) -> Result<(), Error>,
    (open, close): (u8, u8),
) -> Result<(), Error> {
    out.push(open);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item)?;
    }
    out.push(close);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &[u8]) -> Option<String> {
        let mut out = Vec::new();
        write_string(&mut out, text).then(|| String::from_utf8(out).expect("UTF-8 in, UTF-8 out"))
    }

    fn number(value: f64) -> Option<String> {
        let mut out = Vec::new();
        write_f64(&mut out, value).then(|| String::from_utf8(out).expect("digits"))
    }

    #[test]
    fn strings_are_escaped_and_checked() {
        assert_eq!(string(b"plain").as_deref(), Some(r#""plain""#));
        assert_eq!(
            string(b"a\"b\\c\n\x01\x7f/").as_deref(),
            Some("\"a\\\"b\\\\c\\n\\u0001\x7f/\"")
        );
        assert_eq!(
            string("grüße 🛶".as_bytes()).as_deref(),
            Some("\"grüße 🛶\"")
        );
        assert_eq!(string(b"\xff"), None);
    }

    #[test]
    fn every_byte_is_escaped_as_by_a_reader_of_json_wherever_it_stands() {
        for length in [1, 15, 16, 17, 31, 32, 33, 64, 100] {
            for at in 0..length {
                for byte in 0..0x80 {
                    let mut text = vec![b'x'; length];
                    text[at] = byte;
                    text[length - 1 - at] = b'"';
                    let text = String::from_utf8(text).expect("ASCII");
                    let written = string(text.as_bytes()).expect("UTF-8");
                    assert_eq!(written, serde_json::to_string(&text).expect("writable"));
                }
                let text = format!("{}ü{}", "x".repeat(at), "x".repeat(length - at));
                let written = string(text.as_bytes()).expect("UTF-8");
                assert_eq!(written, format!("\"{text}\""));
                let mut broken = vec![b'x'; length];
                broken[at] = 0xc3;
                assert_eq!(string(&broken), None);
            }
        }
    }

    #[test]
    fn numbers_are_short_and_exact() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (-5.0, "-5"),
            (0.1, "0.1"),
            (9_007_199_254_740_992.0, "9007199254740992"),
        ] {
            assert_eq!(number(value).as_deref(), Some(text));
        }
        for value in [
            1e300,
            -0.0,
            1.5e-7,
            123_456_789.123,
            f64::MIN_POSITIVE,
            f64::MAX,
        ] {
            let back: f64 = number(value).expect("finite").parse().expect("a number");
            assert_eq!(back.to_bits(), value.to_bits());
        }
        assert_eq!((number(f64::NAN), number(f64::INFINITY)), (None, None));
    }

    #[test]
    fn dates_that_javascript_does_not_have_become_null() {
        const MAX: i64 = DATE_MILLIS_MAX as i64;
        for (millis, text) in [
            (MAX, r#""+275760-09-13T00:00:00.000Z""#),
            (-MAX, r#""-271821-04-20T00:00:00.000Z""#),
            (MAX + 1, "null"),
            (-MAX - 1, "null"),
            (i64::MIN, "null"),
        ] {
            let row = Value::Row(Rows::of(&["at"], &[Cell::Date(millis)]));
            let mut out = Vec::new();
            write_value(&mut out, &row, 8).expect("writable");
            let expected = format!(r#"{{"at":{text}}}"#);
            assert_eq!(String::from_utf8(out).expect("UTF-8"), expected);
        }
    }

    #[test]
    fn rows_become_objects() {
        let rows = Rows::of(
            &["id", "n"],
            &[Cell::Int(1), Cell::Null, Cell::Date(0), Cell::Text("x")],
        );
        let mut out = Vec::new();
        write_value(&mut out, &Value::Rows(rows), 8).expect("writable");
        assert_eq!(
            out,
            br#"[{"id":1,"n":null},{"id":"1970-01-01T00:00:00.000Z","n":"x"}]"#
        );
    }
}
