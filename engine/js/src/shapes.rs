//! Keeps the shapes of objects that requests make again and again.
//!
//! QuickJS forgets a shape (the list of names that equal objects share) with its last object. A handler that returns `{ greeting }`
//! would have that shape built and dropped with every request, which costs more than the object itself. So one object of each
//! shape that is written as JSON is kept, with nothing in it.

use crate::sys::{Cx, Thrown, Val};
use rquickjs::qjs;
use std::cell::RefCell;

/// Objects that are kept for their shapes.
pub(crate) struct Shapes {
    /// By a hash of the names; another shape with the same slot replaces the one that is there.
    written: RefCell<Vec<Option<(u64, Val)>>>,
    /// Of the engine's own objects.
    own: RefCell<Vec<Val>>,
}

/// The hash of the names of one object, while they are written.
#[derive(Clone, Copy)]
pub(crate) struct Hash(u64);

impl Hash {
    /// Of an object made by a literal.
    pub(crate) const PLAIN: Self = Self(0xcbf2_9ce4_8422_2325);
    /// Of an object without a prototype.
    pub(crate) const BARE: Self = Self(0x8422_2325_cbf2_9ce4);

    /// Takes in the next name.
    #[inline]
    pub(crate) fn add(&mut self, name: qjs::JSAtom) {
        self.0 = (self.0 ^ u64::from(name))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(23);
    }
}

impl Shapes {
    /// How many shapes are kept; a power of two.
    const SLOTS: usize = 256;
    /// Objects with more names than this are not kept.
    const NAMES_MAX: usize = 64;

    pub(crate) fn new() -> Self {
        Self {
            written: RefCell::new(vec![None; Self::SLOTS]),
            own: RefCell::default(),
        }
    }

    /// Whether the shape of an object with these names is kept already.
    #[inline]
    pub(crate) fn knows(&self, hash: Hash) -> bool {
        matches!(&self.written.borrow()[Self::slot(hash)], Some((known, _)) if *known == hash.0)
    }

    fn slot(hash: Hash) -> usize {
        (hash.0 >> 32) as usize & (Self::SLOTS - 1)
    }

    /// Keeps the shape of an object with these names; `object` is an empty one of its kind.
    #[cold]
    pub(crate) fn keep(
        &self,
        cx: Cx<'_>,
        hash: Hash,
        object: Val,
        names: impl Iterator<Item = qjs::JSAtom>,
    ) -> Result<(), Thrown> {
        for name in names.take(Self::NAMES_MAX) {
            cx.define_atom(object.raw(), name, cx.undefined())?;
        }
        let old = self.written.borrow_mut()[Self::slot(hash)].replace((hash.0, object));
        drop(old);
        Ok(())
    }

    /// Keeps an object of the engine's own.
    pub(crate) fn keep_own(&self, object: Val) {
        self.own.borrow_mut().push(object);
    }

    /// Lets all go; to be called before the context goes.
    pub(crate) fn clear(&self) {
        drop(std::mem::take(&mut *self.own.borrow_mut()));
        self.written.borrow_mut().clear();
    }
}
