//! Values from a tape.

use crate::error::{Error, ErrorKind};
use crate::json::read::{Tape, Token};
use crate::value::Value;

/// Returns the value of JSON that an engine has written and a capability has kept.
///
/// # Errors
/// The text is not JSON.
pub fn kept_value(text: &str, depth_max: usize) -> Result<Value, Error> {
    let mut tape = Tape::default();
    tape.read(text.as_bytes(), depth_max).map_err(|fault| {
        Error::new(
            ErrorKind::Internal,
            format!("a value that was kept: {fault}"),
        )
    })?;
    Ok(tape.value(text.as_bytes()))
}

/// A container that is being filled, with the name that its next member goes under.
enum Open {
    List(Vec<Value>),
    Map(Vec<(String, Value)>, Option<String>),
}

impl Tape {
    /// The value of the text `source` that was read. It has a stack of its own: the text's nesting never becomes the
    /// thread's.
    pub fn value(&self, source: &[u8]) -> Value {
        let text = |token: &Token| {
            let text = String::from_utf8(self.text(token, source).to_vec());
            text.unwrap_or_else(|fault| String::from_utf8_lossy(fault.as_bytes()).into_owned())
        };
        let mut open: Vec<Open> = Vec::new();
        let mut whole = Value::Null;
        for token in self.tokens() {
            if let (Some(Open::Map(_, name @ None)), Token::Text(_) | Token::Unescaped(_)) =
                (open.last_mut(), token)
            {
                *name = Some(text(token));
                continue;
            }
            let value = match token {
                Token::Null => Value::Null,
                Token::Bool(value) => Value::Bool(*value),
                Token::Int(value) => Value::Int(*value),
                Token::Float(value) => Value::Float(*value),
                Token::Text(_) | Token::Unescaped(_) => Value::Text(text(token)),
                Token::Array(count) => {
                    open.push(Open::List(Vec::with_capacity(*count as usize)));
                    continue;
                }
                Token::Object(count) => {
                    open.push(Open::Map(Vec::with_capacity(*count as usize), None));
                    continue;
                }
                Token::End => match open.pop() {
                    Some(Open::List(items)) => Value::List(items),
                    Some(Open::Map(members, _)) => Value::Map(members),
                    None => Value::Null,
                },
            };
            match open.last_mut() {
                Some(Open::List(items)) => items.push(value),
                Some(Open::Map(members, name)) => {
                    members.push((name.take().unwrap_or_default(), value))
                }
                None => whole = value,
            }
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_value_that_cannot_be_read_is_an_error() {
        let value = kept_value("{\"a\":[1]}", 2).expect("JSON");
        assert_eq!(value.get("a"), Some(&Value::List(vec![Value::Int(1)])));
        for text in ["", "{", "\"caf\\ud83d\"", "[[[]]]"] {
            let error = kept_value(text, 2).expect_err("it is refused");
            assert!(error.message().contains("invalid JSON"), "{error}");
        }
    }
}
