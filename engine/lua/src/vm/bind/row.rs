//! Rows and classes as an isolate has bound them.

use crate::vm::state::State;
use sampan_host::{Class, Function, RowOwner, Words};
use std::ffi::{c_int, c_void};

/// The names of things in Lua.
pub(crate) const WORDS: Words = Words {
    map: "a table",
    list: "a list",
    method: ":",
    spell: str::to_owned,
    fetch: "app.fetch",
};

/// A row that a C function stands for.
#[derive(Clone, Copy)]
pub(crate) struct BoundRow {
    pub(super) owner: RowOwner<'static>,
    /// The class that it is a method of.
    pub(super) class: Option<&'static Class>,
    pub(crate) function: &'static Function,
}

impl BoundRow {
    /// The name as the script spells it: `db.query`, `tx:query`.
    pub(crate) fn name(&self) -> String {
        WORDS.function(self.owner, self.function)
    }

    /// Returns the number of arguments that stand in front of those of its parameters: what a method is called on.
    pub(crate) fn before(&self) -> usize {
        usize::from(self.owner.is_class)
    }

    /// Reports whether it is a method of requests.
    pub(super) fn is_of_request(&self) -> bool {
        self.class.is_none() && self.owner.is_class
    }
}

/// A class of a module, with its metatable.
pub(crate) struct BoundClass {
    pub(crate) class: &'static Class,
    /// The registry's reference of the metatable, and where that lies: it is never collected.
    pub(crate) meta: c_int,
    pub(crate) address: *const c_void,
}

/// A bracket that is open.
#[derive(Clone, Copy)]
pub(crate) struct OpenBracket {
    pub(super) row: BoundRow,
    /// The coroutine that it was opened in.
    pub(super) state: State,
}

impl OpenBracket {
    /// The name as the script spells it.
    pub(crate) fn name(&self) -> String {
        self.row.name()
    }
}
