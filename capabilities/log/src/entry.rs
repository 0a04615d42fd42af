//! One message, before it has a format.

use sampan_host::Value;
use std::borrow::Cow;

/// What a line tells. Only the message is needed.
#[derive(Clone, Debug, Default)]
pub struct Entry<'a> {
    /// What happened.
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

/// What makes two lines "the same": a line in a file, or else the text without what differs from one to the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cause(String);

impl Cause {
    /// The longest template that is kept, in bytes.
    const BYTES_MAX: usize = 120;

    /// A place: `app.lua:12`.
    pub fn place(place: impl Into<String>) -> Self {
        Self(place.into())
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
        Self(template)
    }

    /// The cause as text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// An error as engines show it to the log: a map whose members are `error` (name and message), `stack`, `cause` and `errors`.
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
        assert_eq!(of("no answer after 1023 ms"), of("no answer after 7 ms"));
        assert_eq!(of("no file \"a\" here"), of("no file \"bc\" here"));
        assert_ne!(of("no file here"), of("no folder here"));
        assert!(of(&"x".repeat(1_000_000)).as_str().len() <= Cause::BYTES_MAX);
    }
}
