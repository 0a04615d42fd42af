//! An entry for people: `2026-11-21T05:00:00.000Z INFO message key=value id=...`, and below it the message's further
//! lines and the stack, indented.
//!
//! A time at the beginning of a line marks an entry. Lines below it begin with four spaces, so no message can forge an
//! entry. Control characters are escaped, so none can steer a terminal either.

use crate::entry::ShownError;
use crate::json;
use crate::time;
use sampan_host::Value;
use sampan_host::log::{Entry, Level};
use sampan_host::trace::TraceIds;
use std::borrow::Cow;
use std::fmt::Write;
use std::time::Duration;

/// The space reserved for time, level and id, in bytes.
const FRAME_BYTES: usize = 384;

/// The colours of a line on a terminal, as escape sequences.
#[derive(Clone, Copy)]
pub(crate) struct Ink {
    level: &'static str,
    aside: &'static str,
    plain: &'static str,
}

impl Ink {
    /// No colours.
    pub(crate) const NONE: Self = Self {
        level: "",
        aside: "",
        plain: "",
    };

    /// Red for errors, yellow for warnings; time and id step back.
    pub(crate) fn of(level: Level) -> Self {
        Self {
            level: match level {
                Level::Debug => "\x1b[2m",
                Level::Info => "\x1b[36m",
                Level::Warn => "\x1b[33m",
                Level::Error => "\x1b[31m",
            },
            aside: "\x1b[2m",
            plain: "\x1b[0m",
        }
    }
}

/// Appends an entry in at most `bytes_max` bytes.
pub(crate) fn write(
    out: &mut String,
    now: Duration,
    level: Level,
    entry: &Entry<'_>,
    bytes_max: usize,
    ink: Ink,
) {
    let error = ShownError::of(&entry.message);
    let (own_stack, message);
    let (text, stack) = match (&error, &*entry.message) {
        (Some(error), _) => {
            own_stack = error.stack();
            (Some(error.text), Some(own_stack.as_str()))
        }
        (None, Value::Text(text)) => (Some(text.as_str()), entry.stack),
        (None, Value::Bytes(bytes)) => {
            message = String::from_utf8_lossy(bytes);
            (Some(&*message), entry.stack)
        }
        (None, _) => (None, entry.stack),
    };
    let room = bytes_max.saturating_sub(FRAME_BYTES);
    // The stack and the fields get what the message leaves, but half of the line in any case.
    let is_alone = stack.is_none() && entry.fields.is_empty();
    let message_max = if is_alone { room } else { room / 2 };
    let start = out.len();
    out.push_str(ink.aside);
    time::rfc3339(out, now);
    let _ = write!(
        out,
        "{plain} {}{level}{plain} ",
        ink.level,
        plain = ink.plain
    );
    let message_end = out.len() + message_max;
    let mut lines = text.map(|text| text.trim_end_matches(['\r', '\n']).lines());
    match &mut lines {
        Some(lines) => escaped(
            out,
            &untabbed(lines.next().unwrap_or_default()),
            message_max,
        ),
        None => json::value(out, &entry.message, message_max.saturating_sub(FRAME_BYTES)),
    }
    let message_left = message_end.saturating_sub(out.len());
    let fields_end = start + if stack.is_some() { room * 3 / 4 } else { room };
    for (key, value) in entry.fields {
        if out.len() >= fields_end {
            out.push_str(" … (cut)");
            break;
        }
        field(out, key, value, fields_end - out.len());
    }
    if let Some(TraceIds { trace, span }) = &entry.trace {
        let _ = write!(
            out,
            " {}trace_id={trace} span_id={span}{}",
            ink.aside, ink.plain
        );
    }
    if let Some(id) = &entry.id {
        let _ = write!(out, " {}id={id}{}", ink.aside, ink.plain);
    }
    out.push('\n');
    let left = |out: &String| (start + bytes_max).saturating_sub(out.len());
    let message_left = message_left.min(left(out));
    indented(out, lines.into_iter().flatten(), message_left);
    let calls = stack.into_iter().flat_map(str::lines).map(str::trim);
    let stack_max = left(out);
    indented(out, calls.filter(|call| !call.is_empty()), stack_max);
}

/// Appends the lines that stand below an entry, in at most `bytes_max` bytes.
fn indented<'a>(out: &mut String, lines: impl Iterator<Item = &'a str>, bytes_max: usize) {
    const CUT: &str = "    … (cut)\n";
    /// A mark for this line, and one for the rest.
    const MARKS_BYTES: usize = 64;
    let end = out.len() + bytes_max;
    for line in lines {
        let left = end.saturating_sub(out.len());
        if left < MARKS_BYTES {
            if left >= CUT.len() {
                out.push_str(CUT);
            }
            break;
        }
        out.push_str("    ");
        escaped(out, &untabbed(line), left - MARKS_BYTES);
        out.push('\n');
    }
}

/// Appends ` key=value`; text is quoted where it would not read as one word.
fn field(out: &mut String, key: &str, value: &Value, bytes_max: usize) {
    out.push(' ');
    if is_one_word(key) && key.len() < bytes_max {
        out.push_str(key);
    } else {
        json::string(out, key, bytes_max.min(256));
    }
    out.push('=');
    match value {
        Value::Text(text) if is_one_word(text) && text.len() < bytes_max => out.push_str(text),
        other => json::value(out, other, bytes_max),
    }
}

pub(crate) fn is_one_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| !c.is_whitespace() && !json::is_hidden(c) && c != '"' && c != '=')
}

/// Returns a line with blanks in the place of its tabs, by which Lua's `print` separates values.
fn untabbed(line: &str) -> Cow<'_, str> {
    match line.contains('\t') {
        true => line.replace('\t', "    ").into(),
        false => line.into(),
    }
}

/// The beginning of a text, in at most `bytes_max` bytes and a mark.
pub(crate) fn cut(text: &str, bytes_max: usize) -> String {
    let mut out = String::new();
    escaped(&mut out, text, bytes_max);
    out
}

/// Appends text with its control characters escaped, in at most `bytes_max` bytes and a mark.
pub(crate) fn escaped(out: &mut String, text: &str, bytes_max: usize) {
    let end = out.len() + bytes_max;
    for c in text.chars() {
        if out.len() + 8 > end {
            let _ = write!(out, "… (cut, {} bytes)", text.len());
            return;
        }
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if json::is_hidden(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::trace::{SpanId, TraceId};
    use std::borrow::Cow;

    fn line(entry: &Entry<'_>, bytes_max: usize) -> String {
        let mut out = String::new();
        write(
            &mut out,
            Duration::ZERO,
            Level::Info,
            entry,
            bytes_max,
            Ink::NONE,
        );
        let rest = out.strip_prefix("1970-01-01T00:00:00.000Z INFO ");
        rest.expect("time and level").to_owned()
    }

    #[test]
    fn a_message_stays_on_its_line() {
        assert_eq!(
            line(&Entry::text("a\rb\u{1b}[2J\u{2028}\u{202e}"), 1024),
            "a\\rb\\u{1b}[2J\\u{2028}\\u{202e}\n"
        );
        assert_eq!(line(&Entry::text("a\tb"), 1024), "a    b\n");
        let list = Value::List(vec![1.into(), "x\n".into()]);
        assert_eq!(line(&Entry::value(&list), 1024), "[1,\"x\\n\"]\n");
        let bytes = Value::Bytes(vec![0xff, b'\n', b'a']);
        assert_eq!(line(&Entry::value(&bytes), 1024), "\u{fffd}\n    a\n");
    }

    #[test]
    fn colours_frame_what_is_the_servers_own() {
        let entry = Entry {
            id: Some(Cow::Borrowed("r1")),
            ..Entry::text("a\u{1b}[2Jb")
        };
        let mut out = String::new();
        let ink = Ink::of(Level::Error);
        write(&mut out, Duration::ZERO, Level::Error, &entry, 1024, ink);
        let time = "\u{1b}[2m1970-01-01T00:00:00.000Z\u{1b}[0m";
        let rest = "\u{1b}[31mERROR\u{1b}[0m a\\u{1b}[2Jb \u{1b}[2mid=r1\u{1b}[0m\n";
        assert_eq!(out, format!("{time} {rest}"));
    }

    #[test]
    fn a_line_of_a_traced_request_has_its_ids() {
        let ids = TraceIds {
            trace: TraceId(0xab),
            span: SpanId(0xcd),
        };
        let entry = Entry {
            id: Some(Cow::Borrowed("r1")),
            trace: Some(ids),
            ..Entry::text("m")
        };
        let (trace, span) = (format!("{:032x}", 0xab), "00000000000000cd");
        let expected = format!("m trace_id={trace} span_id={span} id=r1\n");
        assert_eq!(line(&entry, 1024), expected);
    }

    #[test]
    fn further_lines_of_a_message_are_indented() {
        let forged = "boom:\r\n\tat f\n\n1970-01-01T00:00:00.000Z ERROR forged\u{1b}[2J\n";
        let entry = Entry {
            id: Some(Cow::Borrowed("r1")),
            stack: Some("at g"),
            ..Entry::text(forged)
        };
        assert_eq!(
            line(&entry, 1024),
            "boom: id=r1\n        at f\n    \n    1970-01-01T00:00:00.000Z ERROR forged\\u{1b}[2J\n    at g\n"
        );
    }

    #[test]
    fn fields_are_words_or_quoted() {
        let fields = [
            ("user", Value::from("ann")),
            ("note", "two words".into()),
            ("n", 3.into()),
            ("none", Value::Null),
            ("a\nb", "".into()),
        ]
        .map(|(key, value)| (key.to_owned(), value));
        let entry = Entry {
            fields: &fields,
            id: Some(Cow::Borrowed("r1")),
            ..Entry::text("m")
        };
        assert_eq!(
            line(&entry, 1024),
            "m user=ann note=\"two words\" n=3 none=null \"a\\nb\"=\"\" id=r1\n"
        );
    }

    #[test]
    fn a_line_of_a_megabyte_is_cut_and_keeps_its_id() {
        for text in [
            "x".repeat(1 << 20),
            "\n".repeat(1 << 20) + "x",
            "x\n".repeat(1 << 19),
        ] {
            let value = Value::from(text.as_str());
            let fields = vec![("big".to_owned(), value.clone()); 10];
            let entry = Entry {
                fields: &fields,
                stack: Some(&text),
                id: Some(Cow::Borrowed("r1")),
                ..Entry::value(&value)
            };
            for entry in [
                entry,
                Entry {
                    id: Some(Cow::Borrowed("r1")),
                    ..Entry::value(&value)
                },
            ] {
                let line = line(&entry, 4096);
                assert!(line.len() <= 4096, "{}", line.len());
                let first = line.lines().next().expect("a line");
                assert!(first.ends_with(" id=r1"), "{first}");
                assert!(line.contains("(cut"), "{line}");
            }
        }
    }

    #[test]
    fn an_error_of_a_script_has_its_stack_below() {
        let inner = Value::Map(vec![
            ("error".into(), "Error: inner\nforged".into()),
            ("stack".into(), "at g (app.js:1:1)\n".into()),
        ]);
        let error = Value::Map(vec![
            ("error".into(), "TypeError: boom".into()),
            ("stack".into(), "at f (app.js:2:1)\nat app.js:3:1".into()),
            ("cause".into(), inner),
        ]);
        assert_eq!(
            line(&Entry::value(&error), 1024),
            "TypeError: boom\n    at f (app.js:2:1)\n    at app.js:3:1\n    caused by: Error: inner\\nforged\n    at \
             g (app.js:1:1)\n"
        );
    }
}
