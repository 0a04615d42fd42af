//! JSON as `jsonb` writes it again (`jsonb_util.c` of PostgreSQL): the names of an object sorted, the last of equal
//! ones kept, numbers as `numeric` has them, spaces and escapes in one way.

use super::canonical;
use std::fmt::Write;

/// The most values inside of each other.
const DEPTH_MAX: usize = 100;

/// Returns JSON as `jsonb::text` gives it; `None` if it is not JSON, or is nested too deeply.
pub(super) fn jsonb(text: &str) -> Option<String> {
    let mut reader = JsonReader { text, at: 0 };
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    reader.value(&mut out, DEPTH_MAX)?;
    reader.skip_space();
    (reader.at == text.len()).then_some(out)
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
}

impl JsonReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Takes this byte, behind spaces, if it comes next.
    fn takes(&mut self, byte: u8) -> bool {
        self.skip_space();
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self, out: &mut String, depth_left: usize) -> Option<()> {
        let depth_left = depth_left.checked_sub(1)?;
        self.skip_space();
        match self.peek()? {
            b'{' => self.object(out, depth_left),
            b'[' => self.array(out, depth_left),
            b'"' => {
                write_string(out, &self.string()?);
                Some(())
            }
            b'-' | b'0'..=b'9' => self.number(out),
            _ => {
                let rest = &self.text[self.at..];
                let words = ["null", "true", "false"];
                let word = words.into_iter().find(|word| rest.starts_with(word))?;
                self.at += word.len();
                out.push_str(word);
                Some(())
            }
        }
    }

    fn object(&mut self, out: &mut String, depth_left: usize) -> Option<()> {
        self.at += 1;
        let mut members: Vec<(String, String)> = Vec::new();
        while !self.takes(b'}') {
            if !members.is_empty() && !self.takes(b',') {
                return None;
            }
            self.skip_space();
            let name = self.string()?;
            if !self.takes(b':') {
                return None;
            }
            let mut value = String::new();
            self.value(&mut value, depth_left)?;
            members.push((name, value));
        }
        members.sort_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
        members.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                std::mem::swap(later, kept);
            }
            is_same
        });
        out.push('{');
        for (at, (name, value)) in members.iter().enumerate() {
            out.push_str(if at > 0 { ", " } else { "" });
            write_string(out, name);
            out.push_str(": ");
            out.push_str(value);
        }
        out.push('}');
        Some(())
    }

    fn array(&mut self, out: &mut String, depth_left: usize) -> Option<()> {
        self.at += 1;
        out.push('[');
        let mut is_first = true;
        while !self.takes(b']') {
            if !is_first {
                if !self.takes(b',') {
                    return None;
                }
                out.push_str(", ");
            }
            is_first = false;
            self.value(out, depth_left)?;
        }
        out.push(']');
        Some(())
    }

    fn number(&mut self, out: &mut String) -> Option<()> {
        let rest = &self.text[self.at..];
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let len = rest.bytes().take_while(|byte| is_part(byte)).count();
        self.at += len;
        out.push_str(&numeric(&rest[..len])?);
        Some(())
    }

    fn string(&mut self) -> Option<String> {
        if !self.takes(b'"') {
            return None;
        }
        let mut said = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(['"', '\\'])?;
            said.push_str(&rest[..plain]);
            self.at += plain + 1;
            if rest.as_bytes()[plain] == b'"' {
                return Some(said);
            }
            said.push(self.escaped()?);
        }
    }

    /// Reads an escape, behind its backslash.
    fn escaped(&mut self) -> Option<char> {
        let byte = self.peek()?;
        self.at += 1;
        Some(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = self.unit()?;
                if !(0xd800..0xdc00).contains(&unit) {
                    return char::from_u32(unit);
                }
                if !self.text[self.at..].starts_with("\\u") {
                    return None;
                }
                self.at += 2;
                let low = self
                    .unit()?
                    .checked_sub(0xdc00)
                    .filter(|low| *low < 0x400)?;
                char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + low)?
            }
            _ => return None,
        })
    }

    /// Reads the four digits of `\u`.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}

/// Returns a number as `numeric` writes it, which keeps zeros behind the point.
fn numeric(text: &str) -> Option<String> {
    let mut number = canonical::number(text, None)?.into_owned();
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse().ok()?),
        None => (text, 0_i64),
    };
    let fraction = mantissa
        .split_once('.')
        .map_or("", |(_, fraction)| fraction);
    let scale = i64::try_from(fraction.len()).ok()? - exponent;
    let scale = usize::try_from(scale.max(0)).ok()?;
    let known = number.split_once('.').map_or(0, |(_, digits)| digits.len());
    if scale > 0 && known == 0 {
        number.push('.');
    }
    number.extend(std::iter::repeat_n('0', scale.saturating_sub(known)));
    Some(number)
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for one in text.chars() {
        match one {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_written_as_the_server_does() {
        for (text, expected) in [
            (" null ", Some("null")),
            (
                "[1,2.50,-0.0,1e2,1.5e-3]",
                Some("[1, 2.50, 0.0, 100, 0.0015]"),
            ),
            ("[ ]", Some("[]")),
            (
                r#"{"bb":1,"a":{"y":[],"x":{}},"c":true,"a":2}"#,
                Some(r#"{"a": 2, "c": true, "bb": 1}"#),
            ),
            (
                r#""\u00e4\/\ud83d\ude00\u0001\n\"\\""#,
                Some("\"ä/😀\\u0001\\n\\\"\\\\\""),
            ),
            (r#""\ud83d""#, None),
            ("[1,]", None),
            ("{1:2}", None),
            ("[1 2]", None),
            ("nil", None),
            ("1 2", None),
            ("", None),
        ] {
            assert_eq!(jsonb(text).as_deref(), expected, "{text}");
        }
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert_eq!(jsonb(&deep), None);
    }
}
