//! Files that the server answers with: those in `public/` by their paths, and those that a handler names.
//!
//! A request for a file in `public/` that no middleware wraps never reaches the script: `StaticFiles::find` finds the
//! file at a path and `StaticFiles::answer` answers. Where a script is between them, its answer names the file and
//! `ServedFile::complete` puts it in. Each worker has files of its own, so nothing is locked.

mod answer;
pub(crate) mod answer_tag;
mod api;
mod cache;
mod conditions;
mod folder;
mod made;
mod multipart;
pub(crate) mod paths;
mod ranges;
mod settings;
mod static_files;
mod stored;

pub(crate) use answer::{Freshness, ServedFile};
pub use api::MODULE;
pub use cache::OPEN_FILES_MAX;
pub use settings::{SECTION, StaticSettings};
pub use static_files::{STORAGE, StaticFiles};
pub(crate) use static_files::{Served, unreadable};

#[cfg(test)]
mod tests;
