//! The names of things in a script's language, so that one template serves both: the engine gives the words.

use crate::tables::module::{Function, ROUTE_KINDS, RowOwner, STREAM_KINDS, Type};
use crate::tables::names::CLIENT;
use crate::value::Value;
use std::borrow::Cow;

/// The words of one language, each with its article.
#[derive(Debug)]
pub struct Words {
    /// A map: "a table", "an object".
    pub map: &'static str,
    /// A list: "a list", "an array".
    pub list: &'static str,
    /// The separator between an object and the name of its method.
    pub method: &'static str,
    /// The way a name in snake_case is spelled.
    pub spell: fn(&str) -> String,
    /// The function that sends requests to other servers.
    pub fetch: &'static str,
}

/// The words of the tables themselves.
impl Default for Words {
    fn default() -> Self {
        Self {
            map: "a map",
            list: "a list",
            method: ".",
            spell: str::to_owned,
            fetch: "fetch",
        }
    }
}

impl Words {
    /// The name of a function as the caller writes it: `time.now_ms`, `time.nowMs`, `tx:query`.
    pub fn function(&self, owner: RowOwner<'_>, function: &Function) -> String {
        if owner.name == CLIENT {
            return self.fetch.to_owned();
        }
        let mark = if owner.is_class { self.method } else { "." };
        let owner = match owner.name {
            ROUTE_KINDS | STREAM_KINDS => "app",
            name => name,
        };
        format!("{owner}{mark}{}", (self.spell)(function.name))
    }

    /// Returns the beginning of an error about an argument begins with. `index` counts from 0.
    pub fn argument(&self, owner: RowOwner<'_>, function: &Function, index: usize) -> String {
        let name = self.function(owner, function);
        match function.params.get(index) {
            Some(param) => {
                let param = (self.spell)(param.name);
                format!("{name}: argument {} ({param})", index + 1)
            }
            None => format!("{name}: argument {}", index + 1),
        }
    }

    /// Returns the description of the values that a parameter accepts.
    pub fn expected(&self, ty: Type) -> Cow<'static, str> {
        let text = match ty {
            Type::Object(class) => return class.with_article().into(),
            Type::Nothing => "left out",
            Type::Bool => "a boolean",
            Type::Int => "a whole number",
            Type::Number => "a number",
            Type::Text => "a string",
            Type::Bytes => "a string or bytes",
            Type::List => self.list,
            Type::Map | Type::Record(_) => self.map,
            Type::Any | Type::Json | Type::Message | Type::Shown | Type::InPlace => "a value",
            Type::Function => "a function",
            Type::TextOrFunction => "a string or a function",
            Type::MapOrFunction => return format!("{} or a function", self.map).into(),
            Type::Answer => "an answer",
            Type::Results(_) => "several values",
            Type::Rows => "rows",
            Type::RowOrNothing => "a row or nothing",
            Type::RecordOrNothing(_) => "a record or nothing",
            Type::TextOrNothing => "a string or nothing",
            Type::TextOrBytes => "a string or bytes",
            Type::BytesOrNothing => "bytes or nothing",
        };
        text.into()
    }

    /// Returns the description of a value; `nothing` is what the language calls the nothing that was given.
    pub fn found(&self, value: &Value, nothing: &'static str) -> Cow<'static, str> {
        let text = match value {
            Value::Object(object) => return object.class().with_article().into(),
            Value::Null => nothing,
            Value::Bool(_) => "a boolean",
            Value::Int(_) | Value::Float(_) => "a number",
            Value::Text(_) => "a string",
            Value::Bytes(_) => "bytes",
            Value::List(_) | Value::Rows(_) => self.list,
            Value::Map(_) | Value::Row(_) => self.map,
        };
        text.into()
    }
}

impl Value {
    /// Returns the name of the value's type, in the words of the tables.
    pub fn type_name(&self) -> Cow<'static, str> {
        Words::default().found(self, "nothing")
    }
}

/// Returns the error for a value that a capability cannot take: `found` is what it is, with its article.
pub fn cannot_pass(found: &str) -> String {
    format!("{found} cannot be passed here")
}
