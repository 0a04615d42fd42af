//! Forms and queries, and the refusal of wrong options.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sampan_host::{Error, Value};

/// The characters of a form that stay as they are (URL standard, section 5.2).
const IN_FORM: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'*')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b' ');

/// Returns the error for an option of another type.
pub(crate) fn wrong(name: &str, wanted: &str, found: &Value) -> Error {
    Error::script(format!(
        "the option {name} must be {wanted}, not {}",
        found.type_name()
    ))
    .naming([name])
}

/// Encodes the members of a form or query (URL standard, section 5.2). A list has its name several times.
pub(crate) fn encoded(option: &str, value: Value) -> Result<String, Error> {
    let members = match value {
        Value::Map(members) => members,
        Value::List(none) if none.is_empty() => Vec::new(),
        other => {
            return Err(wrong(
                option,
                "a table or object of names and values",
                &other,
            ));
        }
    };
    let mut out = String::new();
    for (name, value) in members {
        let values = match value {
            Value::List(values) => values,
            value => vec![value],
        };
        for value in values {
            let text = match value {
                Value::Text(text) => text,
                Value::Int(number) => number.to_string(),
                Value::Float(number) => number.to_string(),
                Value::Bool(is) => is.to_string(),
                other => {
                    return Err(Error::script(format!(
                        "{option}: {name} must be a text, a number or true or false, not {}",
                        other.type_name()
                    )));
                }
            };
            if !out.is_empty() {
                out.push('&');
            }
            add_encoded(&mut out, &name);
            out.push('=');
            add_encoded(&mut out, &text);
        }
    }
    Ok(out)
}

fn add_encoded(out: &mut String, text: &str) {
    for part in utf8_percent_encode(text, IN_FORM) {
        out.push_str(&part.replace(' ', "+"));
    }
}
