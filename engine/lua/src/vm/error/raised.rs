//! The error that a bracket passes on.

use sampan_host::Place;

/// The place of an error that a bracket passes on.
pub(crate) struct Raised {
    pub(super) place: Option<Place>,
    pub(super) stack: String,
    /// True if the error is the stop of a script that runs too long. The hook raises another error as soon as this one
    /// is caught, in a place that tells less.
    pub(super) is_stop: bool,
}
