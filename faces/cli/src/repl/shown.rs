//! Values as people read them: on one line where they fit, else indented, and with their depth bounded.

use sampan_host::Value;
use sampan_project::Language;
use std::fmt::Write;

/// The longest value that stays on one line.
const LINE_CHARS_MAX: usize = 96;
/// The depth to which lists and maps are shown.
const DEPTH_MAX: usize = 5;
/// The number of items of a list or map that are shown.
const ITEMS_MAX: usize = 100;
/// The number of characters of a text that are shown.
const TEXT_CHARS_MAX: usize = 10_000;

/// A value as text, in the notation of its language.
pub(crate) fn shown(value: &Value, language: Language) -> String {
    Printer { language }.block(value, 0)
}

struct Printer {
    language: Language,
}

impl Printer {
    /// On one line if that is short enough, else on several, with what is inside indented.
    fn block(&self, value: &Value, depth: usize) -> String {
        if let Some(error) = error_of(value) {
            return error;
        }
        let line = self.line(value, depth);
        let is_short = line.chars().count() + depth * 2 <= LINE_CHARS_MAX;
        if is_short || depth >= DEPTH_MAX {
            return line;
        }
        let indent = "  ".repeat(depth + 1);
        let mut lines = Vec::new();
        let (open, close, count) = match value {
            Value::List(items) => {
                for item in items.iter().take(ITEMS_MAX) {
                    lines.push(format!("{indent}{}", self.block(item, depth + 1)));
                }
                let (open, close) = self.list_marks();
                (open, close, items.len())
            }
            Value::Map(members) => {
                for (name, item) in members.iter().take(ITEMS_MAX) {
                    lines.push(format!(
                        "{indent}{}{}",
                        self.name(name),
                        self.block(item, depth + 1)
                    ));
                }
                ('{', '}', members.len())
            }
            _ => return line,
        };
        if count > ITEMS_MAX {
            lines.push(format!("{indent}... {} more", count - ITEMS_MAX));
        }
        format!(
            "{open}\n{}\n{}{close}",
            lines.join(",\n"),
            "  ".repeat(depth)
        )
    }

    fn line(&self, value: &Value, depth: usize) -> String {
        match value {
            Value::Null => match self.language {
                Language::Lua => "nil".to_owned(),
                Language::Js => "null".to_owned(),
            },
            Value::Bool(value) => value.to_string(),
            Value::Int(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Text(text) if is_name(text) => text.clone(),
            Value::Text(text) => quoted(text),
            Value::Bytes(bytes) => format!("[{} bytes]", bytes.len()),
            Value::List(items) => {
                let (open, close) = self.list_marks();
                if depth >= DEPTH_MAX && !items.is_empty() {
                    return format!("{open}...{close}");
                }
                let shown = items
                    .iter()
                    .take(ITEMS_MAX)
                    .map(|item| self.line(item, depth + 1));
                let mut shown: Vec<String> = shown.collect();
                if items.len() > ITEMS_MAX {
                    shown.push(format!("... {} more", items.len() - ITEMS_MAX));
                }
                match (shown.is_empty(), self.language) {
                    (false, Language::Lua) => format!("{open} {} {close}", shown.join(", ")),
                    _ => format!("{open}{}{close}", shown.join(", ")),
                }
            }
            Value::Map(members) if members.is_empty() => "{}".to_owned(),
            Value::Map(_) if depth >= DEPTH_MAX => "{...}".to_owned(),
            Value::Map(members) => {
                let shown = members.iter().take(ITEMS_MAX).map(|(name, item)| {
                    format!("{}{}", self.name(name), self.line(item, depth + 1))
                });
                let mut shown: Vec<String> = shown.collect();
                if members.len() > ITEMS_MAX {
                    shown.push(format!("... {} more", members.len() - ITEMS_MAX));
                }
                format!("{{ {} }}", shown.join(", "))
            }
            Value::Rows(_) | Value::Row(_) => "[rows]".to_owned(),
            Value::Object(_) => "[object]".to_owned(),
        }
    }

    fn list_marks(&self) -> (char, char) {
        match self.language {
            Language::Lua => ('{', '}'),
            Language::Js => ('[', ']'),
        }
    }

    /// A key with what stands between it and its value.
    fn name(&self, name: &str) -> String {
        let is_word = !name.starts_with(|one: char| one.is_ascii_digit())
            && !name.is_empty()
            && name
                .chars()
                .all(|one| one.is_ascii_alphanumeric() || one == '_');
        match (self.language, is_word) {
            (Language::Lua, true) => format!("{name} = "),
            (Language::Lua, false) => match name.parse::<f64>() {
                Ok(_) => format!("[{name}] = "),
                Err(_) => format!("[{}] = ", quoted(name)),
            },
            (Language::Js, true) => format!("{name}: "),
            (Language::Js, false) => format!("{}: ", quoted(name)),
        }
    }
}

/// Reports whether the text is the bracketed name of a value that cannot be passed on.
fn is_name(text: &str) -> bool {
    let inner = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    inner.is_some_and(|inner| {
        inner.len() < 64
            && inner
                .chars()
                .all(|one| one.is_ascii_alphanumeric() || one == ' ' || one == '.')
    })
}

/// An error as its engine shows it: its text and stack, as lines.
fn error_of(value: &Value) -> Option<String> {
    let Value::Map(members) = value else {
        return None;
    };
    let text = |wanted: &str| {
        members.iter().find_map(|(name, value)| match value {
            Value::Text(text) if name == wanted => Some(text),
            _ => None,
        })
    };
    let (error, stack) = (text("error")?, text("stack")?);
    let calls = stack.lines().map(|line| format!("\n  {}", line.trim()));
    Some(calls.fold(error.clone(), |all, line| all + &line))
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for (at, one) in text.chars().enumerate() {
        if at == TEXT_CHARS_MAX {
            out.push_str("\"...");
            return out;
        }
        match one {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            one if one.is_control() => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(one));
            }
            one => out.push(one),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn map(members: &[(&str, Value)]) -> Value {
        Value::Map(
            members
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
        )
    }

    #[test]
    fn values_are_written_in_the_notation_of_their_language() {
        let value = map(&[
            ("id", Value::Int(1)),
            ("a b", text("x\"\n\u{1b}")),
            ("none", Value::Null),
            (
                "list",
                Value::List(vec![Value::Bool(true), text("[function]")]),
            ),
        ]);
        assert_eq!(
            shown(&value, Language::Lua),
            "{ id = 1, [\"a b\"] = \"x\\\"\\n\\u{1b}\", none = nil, list = { true, [function] } }"
        );
        assert_eq!(
            shown(&value, Language::Js),
            "{ id: 1, \"a b\": \"x\\\"\\n\\u{1b}\", none: null, list: [true, [function]] }"
        );
    }

    #[test]
    fn long_values_are_indented_and_deep_ones_cut() {
        let rows = Value::List(
            (0..3)
                .map(|id| map(&[("id", Value::Int(id)), ("name", text(&"n".repeat(40)))]))
                .collect(),
        );
        let out = shown(&rows, Language::Js);
        assert_eq!(out.lines().count(), 5, "{out}");
        assert!(
            out.starts_with("[\n  { id: 0, name: \"nnn") && out.ends_with("\" }\n]"),
            "{out}"
        );
        let deep = (0..10).fold(Value::Null, |inner, _| Value::List(vec![inner]));
        assert_eq!(shown(&deep, Language::Js), "[[[[[[...]]]]]]");
        let many = Value::List((0..150).map(Value::Int).collect());
        assert!(shown(&many, Language::Lua).ends_with("  99,\n  ... 50 more\n}"));
    }
}
