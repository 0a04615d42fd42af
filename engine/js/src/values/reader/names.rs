//! The names that readers ask for, as QuickJS knows them.

use crate::vm::sys::{Cx, Thrown};
use rquickjs::qjs;
use sampan_host::reader::Name;
use std::cell::RefCell;

/// The atoms of an isolate for the names of the process, by their numbers.
#[derive(Default)]
pub(crate) struct ReaderNames(RefCell<Vec<qjs::JSAtom>>);

impl ReaderNames {
    /// The atom of a name; it stays owned by the table.
    #[inline]
    pub(super) fn atom(&self, cx: Cx<'_>, name: Name) -> Result<qjs::JSAtom, Thrown> {
        match self.0.borrow().get(name.number()) {
            Some(&atom) if atom != qjs::JS_ATOM_NULL => return Ok(atom),
            _ => {}
        }
        self.learn(cx, name)
    }

    #[cold]
    fn learn(&self, cx: Cx<'_>, name: Name) -> Result<qjs::JSAtom, Thrown> {
        let atom = cx.atom(name.text());
        if atom == qjs::JS_ATOM_NULL {
            return Err(Thrown);
        }
        let mut atoms = self.0.borrow_mut();
        if atoms.len() <= name.number() {
            atoms.resize(name.number() + 1, qjs::JS_ATOM_NULL);
        }
        atoms[name.number()] = atom;
        Ok(atom)
    }

    /// Releases the atoms; to be called before the context goes.
    pub(crate) fn clear(&self, cx: Cx<'_>) {
        for atom in self.0.take() {
            // SAFETY: the atom is owned; none is released where there is none.
            unsafe { qjs::JS_FreeAtom(cx.raw(), atom) };
        }
    }
}
