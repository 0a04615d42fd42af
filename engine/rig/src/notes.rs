//! The notes that tests look at: what was called, and what is alive.

use sampan_host::Context;
use std::cell::{Cell, RefCell};

/// The number of sleeps that are alive: a dropped one must go.
#[derive(Default)]
pub struct Sleeps(pub Cell<i64>);

/// The notes of the log and the brackets.
#[derive(Default)]
pub struct Notes(pub RefCell<Vec<String>>);

impl Notes {
    pub(crate) fn add(context: &Context, note: String) {
        if let Some(notes) = context.get::<Self>() {
            notes.0.borrow_mut().push(note);
        }
    }
}
