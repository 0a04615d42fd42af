//! The files of a project: on the disk, in an archive, or in memory.

pub mod own_calls;
mod project;
mod sources;
mod words;

pub use project::Project;
pub use sources::{MIGRATIONS, SHARED, TEMPLATES};
