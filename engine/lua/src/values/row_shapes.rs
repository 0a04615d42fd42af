//! The sets of columns whose rows an isolate knows.

use crate::values::layout::Table;
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;

/// The number of sets of columns that are remembered; a power of two.
const SHAPES_MAX: usize = 128;

/// The state kept for one set of columns.
pub(crate) struct RowShape {
    /// Holds the address that it is found by.
    pub(super) columns: Arc<[String]>,
    /// The address of the metatable.
    pub(super) meta: *const Table,
    /// The registry's references of the metatable, and of the function that makes a row of its cells.
    pub(super) meta_ref: c_int,
    pub(super) maker_ref: c_int,
    /// The names that the metatable lists.
    pub(crate) names: Vec<RowColumn>,
}

/// A column of a row.
pub(crate) struct RowColumn {
    /// The name as it is written in JSON, with what stands around it: `{"id":`, `,"name":`.
    pub(crate) text: Box<[u8]>,
    /// The place in the row before.
    pub(crate) place: Cell<u32>,
}

/// The sets of columns that an isolate remembers: a set with the same slot replaces the one that is there.
pub(crate) struct RowShapes {
    by_columns: [Option<Box<RowShape>>; SHAPES_MAX],
    /// The index of each metatable's shape, by a hash of its address.
    by_meta: [(*const Table, usize); SHAPES_MAX],
}

impl Default for RowShapes {
    fn default() -> Self {
        Self {
            by_columns: [const { None }; SHAPES_MAX],
            by_meta: [(std::ptr::null(), 0); SHAPES_MAX],
        }
    }
}

/// A slot for an address: those of two blocks differ in more than their last four bits.
fn slot<T: ?Sized>(address: *const T) -> usize {
    let address = address.cast::<u8>() as usize;
    ((address >> 4) ^ (address >> 11)) & (SHAPES_MAX - 1)
}

impl RowShapes {
    pub(super) fn of_columns(&self, columns: &Arc<[String]>) -> Option<&RowShape> {
        self.by_columns[slot(Arc::as_ptr(columns))]
            .as_deref()
            .filter(|shape| Arc::ptr_eq(&shape.columns, columns))
    }

    /// Returns the shape of rows with this metatable.
    #[inline]
    pub(crate) fn of_meta(&self, meta: *const Table) -> Option<&RowShape> {
        let (known, at) = self.by_meta[slot(meta)];
        if known != meta {
            return None;
        }
        self.by_columns[at]
            .as_deref()
            .filter(|shape| shape.meta == meta)
    }

    /// Keeps a shape; gives back the references of the one that it replaces.
    pub(super) fn keep(&mut self, shape: RowShape) -> Option<(c_int, c_int)> {
        let at = slot(Arc::as_ptr(&shape.columns));
        self.by_meta[slot(shape.meta)] = (shape.meta, at);
        let old = self.by_columns[at].replace(Box::new(shape));
        old.map(|old| (old.meta_ref, old.maker_ref))
    }
}
