//! The tables offered to scripts: tables of functions and classes, and the words in which they are told.

mod args;
mod elsewhere;
pub mod ends;
mod held_args;
pub mod javascript;
mod kept_bytes;
mod macros;
pub mod module;
pub mod names;
pub mod objects;
pub mod reader;
pub mod refusals;
pub mod words;

pub use args::{Args, Prompt};
pub use held_args::HeldArgs;
pub use kept_bytes::{KeptBytes, NoRoom};
