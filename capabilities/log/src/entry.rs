//! One message, before it has a format.

use sampan_host::Value;
use std::borrow::Cow;

/// The content of a line. Only the message is needed.
#[derive(Clone, Debug, Default)]
pub struct Entry<'a> {
    /// The message.
    pub message: Cow<'a, Value>,
    /// Named values.
    pub fields: &'a [(String, Value)],
    /// The call stack, one call per line, innermost first.
    pub stack: Option<&'a str>,
    /// The request that caused it: its id.
    pub id: Option<Cow<'a, str>>,
    /// The request that caused it: its method and path.
    pub request: Option<(&'a str, &'a str)>,
}

impl<'a> Entry<'a> {
    /// A line of text.
    pub fn text(message: impl Into<String>) -> Self {
        Self {
            message: Cow::Owned(Value::Text(message.into())),
            ..Self::default()
        }
    }

    /// A value of a script.
    pub fn value(message: &'a Value) -> Self {
        Self {
            message: Cow::Borrowed(message),
            ..Self::default()
        }
    }
}

/// The cause by which two lines count as the same: a place in a file, or else the text without what differs from one to
/// the next.
#[derive(Clone, Debug)]
pub struct Cause {
    /// Lines with the same key are counted together.
    pub(crate) key: String,
    /// The name of the cause in the line with the count says of them.
    pub(crate) shown: String,
}

impl Cause {
    /// The longest text that is kept, in bytes.
    const BYTES_MAX: usize = 120;

    /// A place: `app.lua:12`.
    pub fn place(place: impl Into<String>) -> Self {
        let key = place.into();
        let shown = key.clone();
        Self { key, shown }
    }

    /// Returns the cause of an error by the place where it was raised: its place, and of a bundle, which may be one
    /// line, the line of the stack that has the column.
    pub fn raised_at(place: &str, stack: Option<&str>) -> Self {
        let is_there = |line: &&str| line.contains(place);
        let line = stack.unwrap_or_default().lines().find(is_there);
        Self {
            key: line.unwrap_or(place).trim().to_owned(),
            shown: place.to_owned(),
        }
    }

    /// A message whose numbers and quoted parts do not count.
    pub fn message(message: &str) -> Self {
        let mut template = String::new();
        let mut quote = None;
        for c in message.chars() {
            if template.len() >= Self::BYTES_MAX {
                break;
            }
            match quote {
                Some(open) if c == open => quote = None,
                Some(_) => continue,
                None if matches!(c, '"' | '`') => quote = Some(c),
                None => {}
            }
            let c = if c.is_ascii_digit() { '#' } else { c };
            if !(c.is_control() || c == '#' && template.ends_with('#')) {
                template.push(c);
            }
        }
        Self {
            key: template,
            shown: crate::text::cut(message, Self::BYTES_MAX),
        }
    }
}

/// An error as engines show it to the log: a map whose members are `error` (name and message), `stack`, `cause` and
/// `errors`.
pub(crate) struct ShownError<'a> {
    pub(crate) text: &'a str,
    members: &'a [(String, Value)],
}

impl<'a> ShownError<'a> {
    /// The error that a value shows, if it shows one.
    pub(crate) fn of(value: &'a Value) -> Option<Self> {
        let Value::Map(members) = value else {
            return None;
        };
        let text_of = |name: &str| match members.iter().find(|(key, _)| key == name) {
            Some((_, Value::Text(text))) => Some(text),
            _ => None,
        };
        text_of("stack")?;
        Some(Self {
            text: text_of("error")?,
            members,
        })
    }

    fn member(&self, name: &str) -> Option<&'a Value> {
        let found = self.members.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value)
    }

    /// The stack, and below it what caused the error, and the errors that it stands for, each with its own stack.
    pub(crate) fn stack(&self) -> String {
        let mut out = String::new();
        self.add_to(&mut out);
        out
    }

    fn add_to(&self, out: &mut String) {
        if let Some(Value::Text(stack)) = self.member("stack") {
            out.push_str(stack.trim_end());
            out.push('\n');
        }
        let errors = match self.member("errors") {
            Some(Value::List(errors)) => errors.as_slice(),
            _ => &[],
        };
        let cause = self.member("cause").map(|cause| ("caused by", cause));
        for (label, value) in cause
            .into_iter()
            .chain(errors.iter().map(|error| ("one of its errors", error)))
        {
            out.push_str(label);
            out.push_str(": ");
            match (ShownError::of(value), value) {
                (Some(error), _) => {
                    out.push_str(&error.text.replace('\n', "\\n"));
                    out.push('\n');
                    error.add_to(out);
                }
                (None, Value::Text(text)) => {
                    out.push_str(&text.replace('\n', "\\n"));
                    out.push('\n');
                }
                (None, other) => {
                    crate::json::value(out, other, 1024);
                    out.push('\n');
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_quoted_text_do_not_tell_causes_apart() {
        let of = Cause::message;
        let key = |message: &str| of(message).key;
        assert_eq!(key("no answer after 1023 ms"), key("no answer after 7 ms"));
        assert_eq!(key("no file \"a\" here"), key("no file \"bc\" here"));
        assert_ne!(key("no file here"), key("no folder here"));
        assert_eq!(of("no answer after 7 ms").shown, "no answer after 7 ms");
        let long = of(&"x".repeat(1_000_000));
        assert!(long.key.len() <= Cause::BYTES_MAX && long.shown.len() < 2 * Cause::BYTES_MAX);
    }

    #[test]
    fn columns_tell_the_causes_of_one_line_apart() {
        let at = |stack: &str| Cause::raised_at("app.js:1", Some(stack)).key;
        let (first, second) = (
            at("    at push (native)\n    at a (app.js:1:20)"),
            at("    at b (app.js:1:90)"),
        );
        assert_eq!(
            (first.as_str(), second.as_str()),
            ("at a (app.js:1:20)", "at b (app.js:1:90)")
        );
        assert_eq!(Cause::raised_at("app.lua:3", None).key, "app.lua:3");
    }
}
