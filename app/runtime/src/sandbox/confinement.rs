//! The wish of a program that its process is confined.

use std::path::PathBuf;

/// The wish of a program that its process is confined. A program with other work than to serve must not have it.
#[derive(Clone, Debug, Default)]
pub struct Confinement {
    /// Files outside of the project that a reload reads again.
    pub reads: Vec<PathBuf>,
}
