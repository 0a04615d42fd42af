//! The messages for invalid values.

use sampan_host::Value;
use std::fmt::Write;

/// A text by its key, with parameters.
#[derive(Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) key: &'static str,
    pub(crate) params: Vec<(&'static str, Value)>,
}

impl Message {
    pub(crate) fn new(key: &'static str) -> Self {
        Self {
            key,
            params: Vec::new(),
        }
    }

    pub(crate) fn with(key: &'static str, name: &'static str, value: Value) -> Self {
        Self {
            key,
            params: vec![(name, value)],
        }
    }

    /// The text in English. Translations have these keys behind `validate.`.
    pub(crate) fn english(&self) -> String {
        let row = ENGLISH.iter().find(|(key, ..)| *key == self.key);
        let (_, one, other) = row.copied().unwrap_or(("", self.key, self.key));
        let is_one = self.params.contains(&("n", Value::Int(1)));
        let mut text = if is_one { one } else { other }.to_owned();
        for (name, value) in &self.params {
            text = text.replace(&format!("{{{name}}}"), &shown(value));
        }
        text
    }
}

/// A value as people read it.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::List(items) => {
            let mut text = String::new();
            for (at, item) in items.iter().enumerate() {
                let comma = if at == 0 { "" } else { ", " };
                let _ = write!(text, "{comma}{}", shown(item));
            }
            text
        }
        other => other.type_name().into_owned(),
    }
}

/// The key, what is said of one, and what is said of any other number.
#[rustfmt::skip]
const ENGLISH: &[(&str, &str, &str)] = &[
    same("required", "must not be blank"),
    same("string", "must be text"),
    same("integer", "must be a whole number"),
    same("number", "must be a number"),
    same("boolean", "must be yes or no"),
    same("date", "must be a date such as 2024-12-31"),
    same("datetime", "must be a date and time such as 2024-12-31T23:59"),
    same("email", "must be an e-mail address"),
    same("url", "must be an address such as https://example.com"),
    same("list", "must be a list"),
    same("object", "must be an object"),
    same("any", "must be a plain value"),
    ("chars_min", "must have at least 1 character", "must have at least {n} characters"),
    ("chars_max", "must have at most 1 character", "must have at most {n} characters"),
    ("chars", "must have exactly 1 character", "must have exactly {n} characters"),
    ("items_min", "must have at least 1 item", "must have at least {n} items"),
    ("items_max", "must have at most 1 item", "must have at most {n} items"),
    ("items", "must have exactly 1 item", "must have exactly {n} items"),
    same("min", "must be at least {min}"),
    same("max", "must be at most {max}"),
    same("date_min", "must not be before {min}"),
    same("date_max", "must not be after {max}"),
    same("not_past", "must not be in the past"),
    same("not_future", "must not be in the future"),
    same("pattern", "must have the expected format"),
    same("enum", "must be one of {values}"),
    same("check", "is not valid"),
];

const fn same(key: &'static str, text: &'static str) -> (&'static str, &'static str, &'static str) {
    (key, text, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        let said = |n| Message::with("chars_min", "n", Value::Int(n)).english();
        assert_eq!(said(1), "must have at least 1 character");
        assert_eq!(said(2), "must have at least 2 characters");
    }

    #[test]
    fn a_list_is_shown_with_commas() {
        let values = Value::List(vec!["a".into(), 1.into(), true.into()]);
        let said = Message::with("enum", "values", values).english();
        assert_eq!(said, "must be one of a, 1, true");
    }
}
