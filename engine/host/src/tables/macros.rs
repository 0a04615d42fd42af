//! Short forms for the rows of tables, and of a table where it is printed.

use crate::tables::module::Module;
use std::fmt;

/// Its name: tables refer to each other.
impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Declares a parameter: its name, `:` or, if it may be left out, `?`, its type and its meaning.
///
/// ```
/// use sampan_host::{Param, Type, param};
///
/// const PATH: Param = param!("path": Type::Text, "The path of the file.");
/// const TIMES: Param = param!("times"? Type::Int, "The number of times: once unless given.");
/// assert!(!PATH.optional && TIMES.optional);
/// ```
#[macro_export]
macro_rules! param {
    ($name:literal: $ty:expr, $doc:expr) => {
        $crate::param!($name, $ty, false, $doc)
    };
    ($name:literal ? $ty:expr, $doc:expr) => {
        $crate::param!($name, $ty, true, $doc)
    };
    ($name:literal, $ty:expr, $optional:literal, $doc:expr) => {
        $crate::Param {
            name: $name,
            ty: $ty,
            optional: $optional,
            doc: $doc,
        }
    };
}

/// Declares a row: its name with its parameters, its result, its kind and its text.
///
/// ```
/// use sampan_host::{Function, FunctionKind, Type, Value, param, row};
///
/// static ROW: Function = row!("twice"(param!("n": Type::Number, "A number.")) -> Type::Number,
///     FunctionKind::Sync(|_, args| Ok(args.number(0).map_or(Value::Null, |n| Value::Float(2.0 * n)))),
///     "Returns the number twice.");
/// assert_eq!(ROW.params[0].name, "n");
/// ```
#[macro_export]
macro_rules! row {
    ($name:literal($($param:expr),* $(,)?) -> $returns:expr, $kind:expr, $doc:expr) => {
        $crate::Function {
            name: $name,
            params: &[$($param),*],
            returns: $returns,
            doc: $doc,
            kind: $kind,
        }
    };
}
