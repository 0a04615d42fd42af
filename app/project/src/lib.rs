//! The project to run, as plain data: its files, wherever they are kept.

pub mod archive;
pub mod encoders;
pub mod language;
pub mod media;

pub use archive::Archive;
pub use language::Language;
