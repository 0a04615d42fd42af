//! The names of records as JavaScript spells them.

use sampan_host::names::camel_case;
use std::cell::RefCell;
use std::sync::Arc;

/// The fields of records that were spelled before, so that the same ones are always the same `Arc`.
#[derive(Default)]
pub(crate) struct Spellings(RefCell<Vec<[Arc<[String]>; 2]>>);

impl Spellings {
    pub(crate) fn of(&self, columns: &Arc<[String]>) -> Arc<[String]> {
        /// The largest number of spellings: as many as there are functions that return records, and more.
        const SPELLINGS_MAX: usize = 32;
        let mut known = self.0.borrow_mut();
        if let Some([_, names]) = known.iter().find(|[own, _]| Arc::ptr_eq(own, columns)) {
            return names.clone();
        }
        let names: Arc<[String]> = columns.iter().map(|name| camel_case(name)).collect();
        if known.len() < SPELLINGS_MAX {
            known.push([columns.clone(), names.clone()]);
        }
        names
    }
}
