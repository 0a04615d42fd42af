//! Faults of a project that can be found with a project without running it.

pub mod calls;
mod finding;
pub mod misplaced;
pub mod read_files;
pub mod unused;

pub use finding::{Finding, Severity};
