//! The isolation between requests.

use crate::tables::module::Context;
use std::cell::Cell;

/// The state that the requests of one isolate share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// The project's file runs once, and all requests see its globals and modules.
    #[default]
    Worker,
    /// No state: the project's file, and each module that a request requires, runs anew for it.
    Request,
}

/// True while the project's file runs once more, for one request. It declares again what was declared when it was
/// loaded; rows that take such
/// declarations do nothing then. Engines put it into the [`Context`] of an isolate with [`Isolation::Request`].
#[derive(Debug, Default)]
pub struct Rerun(Cell<bool>);

impl Rerun {
    /// Reports whether that is so now.
    pub fn is_on(context: &Context) -> bool {
        context.get::<Self>().is_some_and(|rerun| rerun.0.get())
    }

    /// Notes that the rerun begins or ends. The engine calls this.
    pub fn set(&self, is_on: bool) {
        self.0.set(is_on);
    }
}
