//! JSON as RFC 8259 has it: a reader that fills a flat tape of tokens, and the pieces of a writer.
//!
//! The tape lies between the bytes and the script so that a text is wholly checked before the first script value is
//! made, and so that an engine can build its values from it without a destructor on the stack.

mod build;
mod error;
mod read;
mod write;

pub use build::kept_value;
pub use error::{JsonError, bad_json};
pub use read::{Tape, Token};
pub use write::{
    OBJECT, REQUEST, no_json, no_json_but, write_f64, write_i64, write_string, write_value,
};
