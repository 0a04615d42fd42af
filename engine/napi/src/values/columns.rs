//! The sets of columns for which an isolate has a function that makes their rows.

use crate::sys::Ref;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// The number of sets of columns that are remembered; a power of two.
const SETS_MAX: usize = 128;

/// The state kept for one set of columns.
pub(crate) struct KnownColumns {
    /// Holds the address that it is found by.
    columns: Arc<[String]>,
    /// Makes an array of rows of its arguments.
    pub(super) make: Ref,
}

/// The sets of columns that an isolate remembers: a set with the same slot replaces the one that is there.
pub(crate) struct Columns(RefCell<Vec<Option<Rc<KnownColumns>>>>);

impl Default for Columns {
    fn default() -> Self {
        Self(RefCell::new((0..SETS_MAX).map(|_| None).collect()))
    }
}

impl Columns {
    fn slot(columns: &Arc<[String]>) -> usize {
        // Blocks are aligned to 16 bytes.
        let address = Arc::as_ptr(columns).cast::<u8>() as usize;
        ((address >> 4) ^ (address >> 11)) & (SETS_MAX - 1)
    }

    /// Returns the state of a set that is remembered.
    pub(super) fn get(&self, columns: &Arc<[String]>) -> Option<Rc<KnownColumns>> {
        let sets = self.0.borrow();
        let known = sets[Self::slot(columns)].as_ref()?;
        Arc::ptr_eq(&known.columns, columns).then(|| Rc::clone(known))
    }

    /// Remembers a set, with the function that makes its rows.
    pub(super) fn keep(&self, columns: &Arc<[String]>, make: Ref) -> Rc<KnownColumns> {
        let known = Rc::new(KnownColumns {
            columns: Arc::clone(columns),
            make,
        });
        let old = self.0.borrow_mut()[Self::slot(columns)].replace(Rc::clone(&known));
        drop(old);
        known
    }
}
