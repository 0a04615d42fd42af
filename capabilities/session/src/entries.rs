//! The entries of a session: values as JSON has them.

use crate::limits::DEPTH_MAX;
use sampan_host::json::{Tape, write_string, write_value};
use sampan_host::{Error, Value};
use std::cell::RefCell;

/// Keys with their values, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Entries(Vec<(String, Value)>);

impl Entries {
    /// Reads a JSON object. What is none has no entries.
    pub(crate) fn parse(text: &str) -> Self {
        match parse(text) {
            Some(Value::Map(members)) => Self(members),
            _ => Self::default(),
        }
    }

    /// The JSON object.
    pub(crate) fn text(&self) -> Result<String, Error> {
        let mut out = vec![b'{'];
        for (at, (key, value)) in self.0.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            write_string(&mut out, key.as_bytes());
            out.push(b':');
            write_value(&mut out, value, DEPTH_MAX)?;
        }
        out.push(b'}');
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// Returns the length of the JSON, in bytes.
    pub(crate) fn bytes(&self) -> Result<usize, Error> {
        let members = self.0.iter().map(|(key, value)| bytes_of(key, value));
        members.sum::<Result<usize, _>>().map(|bytes| bytes + 1)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        let found = self.0.iter().find(|(other, _)| other == key);
        found.map(|(_, value)| value)
    }

    /// Puts a value under a key, or removes it. Gives what was there.
    pub(crate) fn put(&mut self, key: &str, value: Option<Value>) -> Option<Value> {
        let at = self.0.iter().position(|(other, _)| other == key);
        match (at, value) {
            (Some(at), Some(value)) => Some(std::mem::replace(&mut self.0[at].1, value)),
            (Some(at), None) => Some(self.0.remove(at).1),
            (None, Some(value)) => {
                self.0.push((key.to_owned(), value));
                None
            }
            (None, None) => None,
        }
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_str())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn members(&self) -> &[(String, Value)] {
        &self.0
    }
}

fn parse(text: &str) -> Option<Value> {
    thread_local! {
        static TAPE: RefCell<Tape> = RefCell::default();
    }
    TAPE.with_borrow_mut(|tape| {
        // The object itself and what stands around a value count too.
        tape.read(text.as_bytes(), DEPTH_MAX + 4).ok()?;
        Some(tape.value(text.as_bytes()))
    })
}

/// Returns the length of a member in the JSON object, with the sign behind it.
pub(crate) fn bytes_of(key: &str, value: &Value) -> Result<usize, Error> {
    let mut out = Vec::new();
    write_string(&mut out, key.as_bytes());
    write_value(&mut out, value, DEPTH_MAX)?;
    Ok(out.len() + 2)
}

/// Returns a value as JSON.
///
/// # Errors
/// A value that JSON does not have.
pub(crate) fn json_of(value: &Value) -> Result<String, Error> {
    let mut out = Vec::new();
    write_value(&mut out, value, DEPTH_MAX)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// A value as the next request will read it.
///
/// # Errors
/// A value that JSON does not have: bytes, native objects, NaN.
pub(crate) fn as_kept(value: &Value) -> Result<Value, Error> {
    if let Value::Bool(_) | Value::Int(_) | Value::Text(_) = value {
        return Ok(value.clone());
    }
    Ok(parse(&json_of(value)?).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let text = r#"{"id":9223372036854775807,"a\"b":[1.5,true,null,{"c":"ü"}],"":{}}"#;
        let entries = Entries::parse(text);
        assert_eq!(entries.get("id"), Some(&Value::Int(i64::MAX)));
        assert_eq!(entries.text().expect("JSON"), text);
        assert_eq!(entries.bytes().expect("JSON"), text.len());
        for none in ["", "[1]", "{", "nonsense"] {
            assert!(Entries::parse(none).is_empty(), "{none}");
        }
    }

    #[test]
    fn values_are_kept_as_json_has_them() {
        let kept = |value| as_kept(&value);
        assert_eq!(
            kept(Value::Float(1e300)).expect("a number"),
            Value::Float(1e300)
        );
        assert_eq!(
            kept(Value::Int(i64::MIN)).expect("a number"),
            Value::Int(i64::MIN)
        );
        kept(Value::Bytes(vec![0xff])).expect_err("bytes");
        kept(Value::Float(f64::NAN)).expect_err("no number");
        let mut deep = Value::Null;
        for _ in 0..=DEPTH_MAX {
            deep = Value::List(vec![deep]);
        }
        kept(deep).expect_err("too deep");
    }
}
