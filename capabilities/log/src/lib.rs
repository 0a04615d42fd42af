//! The log: lines on standard error for scripts and for the server itself, and the access log on standard output.
//!
//! [`Logger`] is the way in. [`entry`](Entry) is one message before it has a format; `text` and `json` are the two
//! formats;
//! `access` writes one line for each request; `repeats` counts what repeats itself; `writer` is the thread that writes.

mod access;
mod entry;
mod json;
mod logger;
mod module;
mod repeats;
mod text;
mod time;
mod writer;

pub use access::{Access, AccessFormat, RequestLine};
pub use entry::{Cause, Entry};
pub use logger::{Format, Level, Logger, Settings};
pub use module::MODULE;
