//! The project to run, as plain data: its files, wherever they are kept, its configuration, and the executable that
//! `sampan build` makes of it.

pub mod archive;
pub mod build;
pub mod config;
pub mod encoders;
pub mod files;
pub mod inspect;
mod language;
pub mod media;

pub use archive::Archive;
pub use files::Project;
pub use language::Language;

/// The version of Sampan.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
