//! The pieces from which engines write JSON straight into an output buffer.

use crate::{Cell, Error, Rows, Value};

/// What to do with each byte of a string: 0 copies it, `u` needs `\u00XX`, another byte follows a backslash.
static ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = b'u';
        byte += 1;
    }
    table[0x08] = b'b';
    table[0x09] = b't';
    table[0x0a] = b'n';
    table[0x0c] = b'f';
    table[0x0d] = b'r';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table
};

/// Writes `text` in quotes. False, with nothing written, if it is not UTF-8.
#[inline]
pub fn write_string(out: &mut Vec<u8>, text: &[u8]) -> bool {
    if !text.is_ascii() && std::str::from_utf8(text).is_err() {
        return false;
    }
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut clean_from = 0;
    for (index, &byte) in text.iter().enumerate() {
        let escape = ESCAPES[byte as usize];
        if escape == 0 {
            continue;
        }
        out.extend_from_slice(&text[clean_from..index]);
        clean_from = index + 1;
        if escape == b'u' {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            let high = HEX[usize::from(byte >> 4)];
            let low = HEX[usize::from(byte & 15)];
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        } else {
            out.extend_from_slice(&[b'\\', escape]);
        }
    }
    out.extend_from_slice(&text[clean_from..]);
    out.push(b'"');
    true
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

/// Writes a [`Value`]; rows become an array of objects. Bytes, NaN and infinity are errors.
pub fn write_value(out: &mut Vec<u8>, value: &Value, depth_left: usize) -> Result<(), Error> {
    let Some(depth_left) = depth_left.checked_sub(1) else {
        return Err(Error::script("JSON: nested too deeply"));
    };
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(number) => write_i64(out, *number),
        Value::Float(number) => {
            if !write_f64(out, *number) {
                return Err(Error::script(format!("JSON has no {number}")));
            }
        }
        Value::Text(text) => {
            write_string(out, text.as_bytes());
        }
        Value::Bytes(_) => return Err(Error::script("JSON: a string that is not UTF-8")),
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

fn write_row(out: &mut Vec<u8>, rows: &Rows, row: usize) -> Result<(), Error> {
    let columns: Vec<usize> = (0..rows.columns().len()).collect();
    let write_cell = |out: &mut Vec<u8>, column: &usize| {
        write_string(out, rows.columns()[*column].as_bytes());
        out.push(b':');
        match rows.cell(row, *column) {
            Cell::Null => out.extend_from_slice(b"null"),
            Cell::Int(number) => write_i64(out, number),
            Cell::Float(number) if write_f64(out, number) => {}
            Cell::Float(number) => return Err(Error::script(format!("JSON has no {number}"))),
            Cell::Text(text) => {
                write_string(out, text.as_bytes());
            }
            Cell::Bytes(_) => return Err(Error::script("JSON: a string that is not UTF-8")),
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
    fn rows_become_objects() {
        let rows = Rows::of(
            &["id", "n"],
            &[Cell::Int(1), Cell::Null, Cell::Int(2), Cell::Text("x")],
        );
        let mut out = Vec::new();
        write_value(&mut out, &Value::Rows(rows), 8).expect("writable");
        assert_eq!(out, br#"[{"id":1,"n":null},{"id":2,"n":"x"}]"#);
    }
}
