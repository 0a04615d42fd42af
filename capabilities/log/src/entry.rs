//! Errors as engines show them to the log.

use sampan_host::Value;

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
