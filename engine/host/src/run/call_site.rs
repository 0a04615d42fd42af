//! The place of the call of a row.

use crate::error::Place;
use crate::tables::module::Context;

/// The function by which an engine finds the line of the project that calls the row that runs. Engines put it into the
/// [`Context`] of an isolate.
pub struct CallSite(Box<dyn Fn() -> Option<Place>>);

impl CallSite {
    /// Creates one over the function of an engine.
    pub fn new(find: impl Fn() -> Option<Place> + 'static) -> Self {
        Self(Box::new(find))
    }

    /// Returns the place of the call of the row that runs; `None` where the engine does not know it. It takes as long
    /// as raising an error.
    pub fn of(context: &Context) -> Option<Place> {
        let here = context.get::<Self>()?;
        (here.0)()
    }
}
