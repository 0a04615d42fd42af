//! The check of arguments against the parameters of their row.

use crate::error::Error;
use crate::tables::args::Args;
use crate::tables::module::{Function, FunctionKind, RowOwner, Type};
use crate::tables::words::Words;
use crate::value::Value;

impl Function {
    /// Reports whether a call only hands over a function of the script, as declarations do. An argument too many is an
    /// error there: a second function would never run.
    pub fn declares(&self) -> bool {
        matches!(self.kind, FunctionKind::Sync(_))
            && self.returns == Type::Nothing
            && self.params.iter().any(|param| param.ty.takes_function())
    }
}

impl Args {
    /// Checks `values` against the row's parameters, in the words of the tables. Missing optional arguments become
    /// [`Value::Null`], further ones are dropped.
    ///
    /// # Errors
    /// A value of another type than the row wants.
    pub fn check(module: &str, function: &Function, values: Vec<Value>) -> Result<Self, Error> {
        let owner = RowOwner {
            name: module,
            is_class: false,
        };
        Self::check_in(&Words::default(), owner, function, values, |_| "nothing")
    }

    /// Checks the arguments in the words of a language. `nothing` says what the argument of that index is where it is
    /// [`Value::Null`]:
    /// `nil`, `undefined` or `null`.
    ///
    /// # Errors
    /// A value of another type than the row wants.
    pub fn check_in(
        words: &Words,
        owner: RowOwner<'_>,
        function: &Function,
        mut values: Vec<Value>,
        nothing: impl Fn(usize) -> &'static str,
    ) -> Result<Self, Error> {
        values.truncate(function.params.len());
        let given = values.len();
        values.resize(function.params.len(), Value::Null);
        for (index, (param, value)) in function.params.iter().zip(&mut values).enumerate() {
            if param.optional && *value == Value::Null {
                continue;
            }
            if !param.ty.accepts(value) {
                let found = words.found(value, nothing(index));
                return Err(Self::wrong(words, owner, function, index, &found));
            }
        }
        Ok(Self {
            values,
            given,
            ..Self::default()
        })
    }

    /// Returns the error for a call of a row that [declares](Function::declares) with more arguments than it takes.
    #[cold]
    pub fn too_many(words: &Words, owner: RowOwner<'_>, function: &Function) -> Error {
        let names: Vec<String> = function
            .params
            .iter()
            .map(|param| (words.spell)(param.name))
            .collect();
        let name = words.function(owner, function);
        Error::script(format!(
            "{name}: too many arguments: it takes only {}",
            names.join(", ")
        ))
    }

    /// Returns the error for an argument of an argument of a wrong type: `found` is what it is, with its article.
    #[cold]
    pub fn wrong(
        words: &Words,
        owner: RowOwner<'_>,
        function: &Function,
        index: usize,
        found: &str,
    ) -> Error {
        let param = function.params.get(index);
        let ty = param.map_or(Type::Any, |param| param.ty);
        Error::script(format!(
            "{} must be {}, not {found}",
            words.argument(owner, function, index),
            words.expected(ty),
        ))
    }
}
