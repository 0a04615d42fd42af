//! The kinds of values that the arguments of filters may be.

use minijinja::Value;
use minijinja::value::ValueKind;

/// A parameter of a filter: its name, and the values that it takes.
pub(super) type FilterParam = (&'static str, ArgumentKind);

/// The values that a parameter takes. `none` and undefined values stand for an argument that was not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgumentKind {
    /// Any value: the filter itself decides.
    Any,
    /// The path of an attribute: a text, or the place in a list.
    Attribute,
    /// A whole number from 0 on.
    Count,
    CountOrFlag,
    CountOrText,
    /// Counts by its truth, as in Jinja2. A text is an argument in the wrong place.
    Flag,
    Text,
    /// A whole number, also below 0.
    Whole,
}

impl ArgumentKind {
    /// Says why an argument cannot have this value.
    pub(super) fn fault(self, name: &str, value: &Value) -> Option<String> {
        if value.is_undefined() || value.is_none() {
            return None;
        }
        let kind = value.kind();
        let is_text = value.as_str().is_some();
        let (is_right, wanted) = match self {
            Self::Any => return None,
            Self::Attribute => (
                is_text || value.is_integer(),
                "a string or the place in a list",
            ),
            Self::Count => (count(value).is_some(), "a whole number from 0 on"),
            Self::CountOrFlag => (
                kind == ValueKind::Bool || count(value).is_some(),
                "a whole number from 0 on, or true or false",
            ),
            Self::CountOrText => (
                is_text || count(value).is_some(),
                "a whole number from 0 on, or a string",
            ),
            Self::Flag => (!is_text, "true or false"),
            Self::Text => (is_text, "a string"),
            Self::Whole => (
                kind == ValueKind::Number && i32::try_from(value.clone()).is_ok(),
                "a whole number",
            ),
        };
        (!is_right).then(|| format!("{name} must be {wanted}, not {}", shown(value)))
    }

    /// Returns an argument as minijinja takes it.
    pub(super) fn adapt(self, value: &Value) -> Option<Value> {
        match self {
            Self::Attribute => Some(path(value)),
            Self::Flag if !value.is_undefined() && !value.is_none() => {
                Some(Value::from(value.is_true()))
            }
            _ => None,
        }
    }
}

/// Returns a whole number from 0 on; a float too, if it is whole.
pub(super) fn count(value: &Value) -> Option<usize> {
    let number = value.as_i64().filter(|_| value.is_number())?;
    usize::try_from(number).ok()
}

/// Returns an attribute as minijinja takes it: Jinja2 has whole numbers for the places in a list too.
pub(super) fn path(attribute: &Value) -> Value {
    match attribute.is_integer() {
        true => Value::from(attribute.to_string()),
        false => attribute.clone(),
    }
}

/// Describes a value of the wrong kind.
fn shown(value: &Value) -> String {
    let kind = match value.kind() {
        ValueKind::Bool => return value.is_true().to_string(),
        ValueKind::Number => return value.to_string(),
        ValueKind::String => "a string",
        ValueKind::Bytes => "bytes",
        ValueKind::Seq | ValueKind::Iterable => "a list",
        ValueKind::Map => "a map",
        _ => "an object",
    };
    kind.to_owned()
}

#[cfg(test)]
mod tests {
    use super::ArgumentKind;
    use minijinja::Value;

    #[test]
    fn a_wrong_value_is_told_with_what_to_write_instead() {
        let list = || Value::from(vec![1]);
        for (kind, value, expected) in [
            (
                ArgumentKind::Count,
                Value::from("20"),
                Some("a whole number from 0 on, not a string"),
            ),
            (
                ArgumentKind::Count,
                Value::from(-1),
                Some("a whole number from 0 on, not -1"),
            ),
            (
                ArgumentKind::Count,
                Value::from(1.5),
                Some("a whole number from 0 on, not 1.5"),
            ),
            (
                ArgumentKind::Count,
                Value::from(true),
                Some("a whole number from 0 on, not true"),
            ),
            (
                ArgumentKind::Count,
                Value::from(f64::NAN),
                Some("a whole number from 0 on, not NaN"),
            ),
            (ArgumentKind::Count, Value::from(10.0), None),
            (ArgumentKind::Count, Value::from(()), None),
            (ArgumentKind::Count, Value::UNDEFINED, None),
            (ArgumentKind::CountOrText, Value::from("> "), None),
            (
                ArgumentKind::CountOrText,
                Value::from(true),
                Some("a whole number from 0 on, or a string, not true"),
            ),
            (ArgumentKind::CountOrFlag, Value::from(true), None),
            (
                ArgumentKind::CountOrFlag,
                list(),
                Some("a whole number from 0 on, or true or false, not a list"),
            ),
            (ArgumentKind::Flag, Value::from(1), None),
            (ArgumentKind::Flag, list(), None),
            (
                ArgumentKind::Flag,
                Value::from("…"),
                Some("true or false, not a string"),
            ),
            (ArgumentKind::Text, Value::from(5), Some("a string, not 5")),
            (ArgumentKind::Attribute, Value::from(0), None),
            (
                ArgumentKind::Attribute,
                list(),
                Some("a string or the place in a list, not a list"),
            ),
            (ArgumentKind::Whole, Value::from(-2), None),
            (
                ArgumentKind::Whole,
                Value::from("2"),
                Some("a whole number, not a string"),
            ),
            (ArgumentKind::Any, list(), None),
        ] {
            let expected = expected.map(|text| format!("x must be {text}"));
            assert_eq!(kind.fault("x", &value), expected, "{kind:?} {value}");
        }
    }
}
