//! Values as JSON within a limit: the output is valid for every value, and at most a little longer than the limit.

use sampan_host::clock::IsoTime;
use sampan_host::{Value, rows::Cell};
use std::fmt::Write;

/// The greatest depth to which a logged value may nest before the rest is left out.
const DEPTH_MAX: usize = 16;
/// The mark for the rest of something that was cut.
const CUT: &str = "…";

/// Appends a value, in at most `bytes_max` bytes and a few for the marks and brackets that end it.
pub(crate) fn value(out: &mut String, value: &Value, bytes_max: usize) {
    let end = out.len() + bytes_max;
    LimitedWriter { end }.write(out, value, DEPTH_MAX);
}

/// Appends a string with its quotes, in at most `bytes_max` bytes and a few. True if it was cut.
pub(crate) fn string(out: &mut String, text: &str, bytes_max: usize) -> bool {
    let end = out.len() + bytes_max;
    out.push('"');
    let mut is_cut = false;
    for c in text.chars() {
        if out.len() + 8 > end {
            let _ = write!(out, "{CUT} (cut, {} bytes)", text.len());
            is_cut = true;
            break;
        }
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_hidden(c) => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    is_cut
}

/// Reports whether a character steers a terminal, ends a line for some readers, or turns the direction of text.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

struct LimitedWriter {
    /// The length of the output that should not be passed.
    end: usize,
}

impl LimitedWriter {
    fn is_full(&self, out: &str) -> bool {
        out.len() >= self.end
    }

    fn left(&self, out: &str) -> usize {
        self.end.saturating_sub(out.len())
    }

    fn text(&self, out: &mut String, text: &str) {
        string(out, text, self.left(out).max(64));
    }

    fn write(&self, out: &mut String, value: &Value, depth_left: usize) {
        match value {
            Value::Null => out.push_str("null"),
            Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Value::Int(value) => {
                let _ = write!(out, "{value}");
            }
            Value::Float(value) => float(out, *value),
            Value::Text(text) => self.text(out, text),
            Value::Bytes(bytes) => self.text(out, &lossy(bytes, self.left(out))),
            Value::List(items) => self.list(out, items.iter(), |out, item| {
                self.nested(out, item, depth_left);
            }),
            Value::Map(members) => {
                let members = members.iter().map(|(key, member)| (key.as_str(), member));
                self.members(out, members, |out, member| {
                    self.nested(out, member, depth_left);
                });
            }
            Value::Rows(rows) => self.list(out, 0..rows.len(), |out, row| {
                let cells = rows.columns().iter().enumerate();
                let cells = cells.map(|(at, name)| (name.as_str(), rows.cell(row, at)));
                self.members(out, cells, |out, cell| self.cell(out, cell));
            }),
            Value::Row(rows) if rows.is_empty() => out.push_str("null"),
            Value::Row(rows) => {
                let cells = rows.columns().iter().enumerate();
                let cells = cells.map(|(at, name)| (name.as_str(), rows.cell(0, at)));
                self.members(out, cells, |out, cell| self.cell(out, cell));
            }
            Value::Object(object) => self.text(out, &format!("[{}]", object.class().name)),
        }
    }

    fn nested(&self, out: &mut String, value: &Value, depth_left: usize) {
        match depth_left.checked_sub(1) {
            Some(left) => self.write(out, value, left),
            None => self.text(out, CUT),
        }
    }

    fn cell(&self, out: &mut String, cell: Cell<'_>) {
        match cell {
            Cell::Null => out.push_str("null"),
            Cell::Int(value) => {
                let _ = write!(out, "{value}");
            }
            Cell::Float(value) => float(out, value),
            Cell::Date(millis) => {
                let _ = write!(out, "\"{}\"", IsoTime(millis));
            }
            Cell::Text(text) => self.text(out, text),
            Cell::Bytes(bytes) => self.text(out, &lossy(bytes, self.left(out))),
        }
    }

    fn list<T>(
        &self,
        out: &mut String,
        items: impl Iterator<Item = T>,
        each: impl Fn(&mut String, T),
    ) {
        out.push('[');
        for (index, item) in items.enumerate() {
            if index > 0 {
                out.push(',');
            }
            if self.is_full(out) {
                self.text(out, CUT);
                break;
            }
            each(out, item);
        }
        out.push(']');
    }

    fn members<'a, T>(
        &self,
        out: &mut String,
        members: impl Iterator<Item = (&'a str, T)>,
        each: impl Fn(&mut String, T),
    ) {
        out.push('{');
        for (index, (key, member)) in members.enumerate() {
            if index > 0 {
                out.push(',');
            }
            if self.is_full(out) {
                let _ = write!(out, "\"{CUT}\":null");
                break;
            }
            self.text(out, key);
            out.push(':');
            each(out, member);
        }
        out.push('}');
    }
}

/// Bytes as text, as many as could be shown.
fn lossy(bytes: &[u8], bytes_max: usize) -> String {
    let shown = &bytes[..bytes.len().min(bytes_max + 64)];
    String::from_utf8_lossy(shown).into_owned()
}

/// JSON has no word for what is not a number.
fn float(out: &mut String, value: f64) {
    let _ = if value.is_finite() {
        write!(out, "{value}")
    } else {
        write!(out, "\"{value}\"")
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::Rows;

    fn shown(of: &Value, bytes_max: usize) -> String {
        let mut out = String::new();
        value(&mut out, of, bytes_max);
        serde_json::from_str::<serde_json::Value>(&out).expect(&out);
        out
    }

    #[test]
    fn anything_is_valid_json() {
        let hostile = "a\"\\\n\r\t\u{0}\u{1b}[2J\u{85}\u{2028}é\u{10ffff}";
        assert_eq!(
            shown(&hostile.into(), 1000),
            "\"a\\\"\\\\\\n\\r\\t\\u0000\\u001b[2J\\u0085\\u2028é\u{10ffff}\""
        );
        assert_eq!(shown(&Value::Float(f64::NAN), 100), "\"NaN\"");
        assert_eq!(shown(&Value::Float(f64::NEG_INFINITY), 100), "\"-inf\"");
        assert_eq!(shown(&Value::Bytes(vec![0xff, b'a']), 100), "\"\u{fffd}a\"");
        let map = Value::Map(vec![(
            "k\"".into(),
            Value::List(vec![1.into(), Value::Null]),
        )]);
        assert_eq!(shown(&map, 100), "{\"k\\\"\":[1,null]}");
        let row = Value::Row(Rows::of(&["at"], &[Cell::Date(1)]));
        assert_eq!(shown(&row, 100), "{\"at\":\"1970-01-01T00:00:00.001Z\"}");
    }

    #[test]
    fn whatever_is_too_large_is_cut_and_still_valid() {
        let text = Value::from("x\n".repeat(1_000_000));
        let list = Value::List(vec![text.clone(); 10]);
        let map = Value::Map(
            (0..100_000)
                .map(|n| (format!("key {n}"), n.into()))
                .collect(),
        );
        let mut deep = Value::Int(1);
        for _ in 0..1000 {
            deep = Value::List(vec![deep]);
        }
        for value in [text, list, map, deep] {
            for bytes_max in [0, 1, 10, 100, 1000, 10_000] {
                let out = shown(&value, bytes_max);
                assert!(out.len() <= bytes_max + 512, "{} of {bytes_max}", out.len());
            }
        }
    }
}
