//! Values from a tape.

use crate::json::read::{Tape, Token};
use crate::value::Value;

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
