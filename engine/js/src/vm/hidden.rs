//! Property keys that scripts do not see: `Reflect.ownKeys`, `Object.assign` and the like leave them out.
//!
//! They are private names (`#name`) of QuickJS. A class with a private field has one made; its key is read from an
//! instance. As a value it is a symbol, which the Web surface uses in brackets. A proxy's trap is handed it like any
//! other key, so a script can get hold of one: what is read through these keys is checked as everything from a script
//! is.

use crate::vm::sys::{Cx, Thrown, Val};
use rquickjs::qjs;
use std::cell::RefCell;
use std::ffi::{CString, c_int};

/// The hidden keys of an isolate by their names.
#[derive(Default)]
pub(crate) struct HiddenKeys(RefCell<Vec<(Box<str>, qjs::JSAtom)>>);

impl HiddenKeys {
    /// The key `name`, the same each time. The caller releases it.
    pub(crate) fn atom(&self, cx: Cx<'_>, name: &str) -> Result<qjs::JSAtom, Thrown> {
        let known = self.known(name);
        let atom = match known {
            Some(atom) => atom,
            None => {
                let atom = private_name(cx, name)?;
                self.0.borrow_mut().push((name.into(), atom));
                atom
            }
        };
        // SAFETY: the table holds a reference of the atom, so the atom is alive while another reference is taken.
        Ok(unsafe { qjs::JS_DupAtom(cx.raw(), atom) })
    }

    /// The key `name` as a symbol.
    pub(crate) fn symbol(&self, cx: Cx<'_>, name: &str) -> Result<Val, Thrown> {
        let atom = self.atom(cx, name)?;
        // SAFETY: the atom is owned, and released after its last use. The reference that comes back is owned.
        unsafe {
            let symbol = cx.check(qjs::JS_AtomToValue(cx.raw(), atom));
            qjs::JS_FreeAtom(cx.raw(), atom);
            symbol
        }
    }

    fn known(&self, name: &str) -> Option<qjs::JSAtom> {
        let keys = self.0.borrow();
        keys.iter()
            .find(|(known, _)| **known == *name)
            .map(|(_, atom)| *atom)
    }

    /// Releases the keys; to be called before the context goes.
    pub(crate) fn clear(&self, cx: Cx<'_>) {
        for (_, atom) in self.0.borrow_mut().drain(..) {
            // SAFETY: the table owns a reference of each atom, which is taken out of it and freed once.
            unsafe { qjs::JS_FreeAtom(cx.raw(), atom) };
        }
    }
}

/// A new private name.
fn private_name(cx: Cx<'_>, name: &str) -> Result<qjs::JSAtom, Thrown> {
    let source = CString::new(format!("new (class {{ #{name} }})()")).map_err(|_| Thrown)?;
    let instance = cx.eval(&source, c"sampan:hidden")?;
    let mut keys: *mut qjs::JSPropertyEnum = std::ptr::null_mut();
    let mut count = 0;
    // SAFETY: the object is alive; QuickJS writes a table of `count` keys, each owned, which is released here but for
    // the first key, which the caller gets.
    unsafe {
        let flags = qjs::JS_GPN_PRIVATE_MASK as c_int;
        let done = qjs::JS_GetOwnPropertyNames(
            cx.raw(),
            &raw mut keys,
            &raw mut count,
            instance.js(),
            flags,
        );
        if done < 0 || count == 0 {
            return Err(Thrown);
        }
        let atom = qjs::JS_DupAtom(cx.raw(), (*keys).atom);
        qjs::JS_FreePropertyEnum(cx.raw(), keys, count);
        Ok(atom)
    }
}
