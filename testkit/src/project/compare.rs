//! The comparison of values, and the description of differences.

use super::limits::{DIFFERENCE_CONTEXT_LINES, DIFFERENCE_LINES_MAX};
use sampan_host::Value;
use sampan_host::json::write_string;
use sampan_project::archive::format::hex;
use similar::ChangeTag;
use similar::algorithms::{Capture, Replace, myers};
use std::convert::Infallible;

/// Reports whether two values are the same, all that is in them included. Whole numbers and others compare as numbers,
/// the order of keys does not
/// count, and an empty list is the same as an empty map: Lua cannot tell them apart.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Int(one), Value::Float(other)) | (Value::Float(other), Value::Int(one)) => {
            *one as f64 == *other
        }
        (Value::Float(one), Value::Float(other)) if one.is_nan() => other.is_nan(),
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_same(one, other))
        }
        (Value::Map(one), Value::Map(others)) => {
            let finds = |(key, value): &(String, Value)| {
                let other = others.iter().find(|(name, _)| name == key);
                other.is_some_and(|(_, other)| is_same(value, other))
            };
            one.len() == others.len() && one.iter().all(finds)
        }
        (Value::List(items), Value::Map(members)) | (Value::Map(members), Value::List(items)) => {
            items.is_empty() && members.is_empty()
        }
        (Value::Text(text), Value::Bytes(bytes)) | (Value::Bytes(bytes), Value::Text(text)) => {
            text.as_bytes() == bytes
        }
        (one, other) => one == other,
    }
}

/// A value as text: one member per line, keys sorted. A text is itself.
pub(super) fn shown(value: &Value) -> String {
    if let Value::Text(text) = value {
        return text.clone();
    }
    let mut out = Vec::new();
    write(&mut out, value, 0);
    String::from_utf8_lossy(&out).into_owned()
}

/// A value in one line, shortened.
pub(super) fn brief(value: &Value) -> String {
    const CHARS_MAX: usize = 120;
    let mut out = Vec::new();
    write(&mut out, value, 0);
    let text = String::from_utf8_lossy(&out);
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

fn write(out: &mut Vec<u8>, value: &Value, depth: usize) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Value::Int(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Value::Float(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Value::Text(text) => {
            write_string(out, text.as_bytes());
        }
        Value::Bytes(bytes) => {
            let hex = hex(bytes);
            out.extend_from_slice(format!("<{} bytes {hex}>", bytes.len()).as_bytes());
        }
        Value::List(items) => {
            let each = items.iter().map(|item| (None, item));
            write_members(out, ['[', ']'], each, depth);
        }
        Value::Map(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|one, other| one.0.cmp(&other.0));
            let each = sorted
                .into_iter()
                .map(|(key, item)| (Some(key.as_str()), item));
            write_members(out, ['{', '}'], each, depth);
        }
        other => out.extend_from_slice(other.type_name().as_bytes()),
    }
}

fn write_members<'a>(
    out: &mut Vec<u8>,
    [open, close]: [char; 2],
    members: impl ExactSizeIterator<Item = (Option<&'a str>, &'a Value)>,
    depth: usize,
) {
    out.push(open as u8);
    let count = members.len();
    for (at, (key, value)) in members.enumerate() {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', (depth + 1) * 2));
        if let Some(key) = key {
            write_string(out, key.as_bytes());
            out.extend_from_slice(b": ");
        }
        write(out, value, depth + 1);
        if at + 1 < count {
            out.push(b',');
        }
    }
    if count > 0 {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', depth * 2));
    }
    out.push(close as u8);
}

/// Returns the difference between `actual` and `expected`: their lines, with `-` where only `expected` has them and `+`
/// where only `actual` does.
pub(super) fn difference(expected: &str, actual: &str) -> String {
    let old: Vec<&str> = expected.split_inclusive('\n').collect();
    let new: Vec<&str> = actual.split_inclusive('\n').collect();
    // One algorithm by name: `TextDiff` brings all five, 900 kB of the executable.
    let mut ops = Replace::new(Capture::new());
    let Ok(()): Result<(), Infallible> =
        myers::diff(&mut ops, &old, 0..old.len(), &new, 0..new.len());
    let groups = ops.into_inner().into_grouped_ops(DIFFERENCE_CONTEXT_LINES);
    let ends_apart = expected.ends_with('\n') != actual.ends_with('\n');
    let mut lines = vec!["    - expected".to_owned(), "    + actual".to_owned()];
    for (at, group) in groups.iter().enumerate() {
        if at > 0 {
            lines.push("    ...".to_owned());
        }
        let changes = group
            .iter()
            .flat_map(|op| op.iter_slices(&old[..], &new[..]))
            .flat_map(|(tag, lines)| lines.iter().map(move |line| (tag, *line)));
        for (tag, whole) in changes {
            let sign = match tag {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            let line = whole.strip_suffix('\n').unwrap_or(whole);
            lines.push(format!("    {sign} {line}"));
            let is_last = !whole.ends_with('\n');
            if is_last && ends_apart {
                lines.push("      (no line break at the end)".to_owned());
            }
        }
    }
    let more = lines.len().saturating_sub(DIFFERENCE_LINES_MAX);
    lines.truncate(DIFFERENCE_LINES_MAX);
    if more > 0 {
        lines.push(format!("    ... and {more} more lines"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(members: &[(&str, Value)]) -> Value {
        let owned = members.iter();
        Value::Map(
            owned
                .map(|(key, value)| ((*key).to_owned(), value.clone()))
                .collect(),
        )
    }

    #[test]
    fn what_means_the_same_is_the_same() {
        let one = map(&[("a", Value::Int(1)), ("b", Value::List(vec![]))]);
        let other = map(&[("b", map(&[])), ("a", Value::Float(1.0))]);
        assert!(is_same(&one, &other) && is_same(&other, &one));
        for different in [
            map(&[("a", Value::Int(1))]),
            map(&[("a", Value::Int(2)), ("b", Value::List(vec![]))]),
            map(&[("a", Value::Int(1)), ("c", Value::List(vec![]))]),
            Value::Null,
        ] {
            assert!(!is_same(&one, &different) && !is_same(&different, &one));
        }
        assert!(is_same(&Value::Float(f64::NAN), &Value::Float(f64::NAN)));
        assert!(!is_same(&Value::Text("1".into()), &Value::Int(1)));
    }

    #[test]
    fn a_difference_shows_the_lines_that_differ() {
        let one = map(&[("a", Value::Int(1)), ("b", Value::Bool(true))]);
        let other = map(&[("b", Value::Bool(false)), ("a", Value::Int(1))]);
        let expected = "    - expected\n    + actual\n      {\n        \"a\": 1,\n    -   \"b\": true\n    +   \"b\": \
         false\n      }";
        assert_eq!(difference(&shown(&one), &shown(&other)), expected);
        let text = difference("a\n", "a");
        assert!(
            text.ends_with("- a\n    + a\n      (no line break at the end)"),
            "{text}"
        );
        let (long, longer) = ("a\n".repeat(500), "b\n".repeat(500));
        let text = difference(&long, &longer);
        assert_eq!(text.lines().count(), DIFFERENCE_LINES_MAX + 1);
        assert!(text.ends_with("more lines"), "{text}");
    }
}
