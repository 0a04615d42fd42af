//! Values that cross the border between a script and a capability.

use crate::{Object, Rows, Words};
use std::borrow::Cow;

/// A value of either script language, owned by neither.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// `nil`, `null`, `undefined` and a missing argument.
    #[default]
    Null,
    /// A boolean.
    Bool(bool),
    /// An exact integer: a Lua number without fraction or an `int64_t`, a JavaScript BigInt or a whole number.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// Text; always UTF-8.
    Text(String),
    /// Bytes: a Lua string that is not UTF-8, a `Uint8Array` or an `ArrayBuffer`.
    Bytes(Vec<u8>),
    /// An array.
    List(Vec<Value>),
    /// A table or object with text keys, in the order in which the script's engine lists them.
    Map(Vec<(String, Value)>),
    /// A list of rows that share their column names.
    Rows(Rows),
    /// One row: the first of these. A batch without rows is [`Value::Null`] to a script.
    Row(Rows),
    /// A native object. Only what an asynchronous row gives may have it inside of a list or map.
    Object(Object),
}

impl Value {
    /// Returns the name of the value's type, in the words of the tables.
    pub fn type_name(&self) -> Cow<'static, str> {
        Words::default().found(self, "nothing")
    }

    /// Shows each native object that is in it.
    pub fn each_object(&self, see: &mut dyn FnMut(Object)) {
        match self {
            Self::Object(object) => see(*object),
            Self::List(items) => items.iter().for_each(|item| item.each_object(see)),
            Self::Map(members) => members
                .iter()
                .for_each(|(_, member)| member.each_object(see)),
            _ => {}
        }
    }

    /// The member called `name`, if this is a map that has it.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Self::Map(members) => members
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}
