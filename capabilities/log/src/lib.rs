//! The log: lines on standard error for scripts and for the server itself, and the access log on standard output.
//!
//! [`Logger`] is the way in. `text` and `json` are the two formats of a line; `entry` shows errors of scripts; `access`
//! writes one line for each request; `repeats` counts what repeats itself; `writer` is the thread that writes.

mod access;
mod entry;
mod json;
mod logger;
mod module;
mod repeats;
mod settings;
mod text;
mod time;
mod writer;

pub use access::AccessFormat;
pub use logger::{Format, LogSettings, Logger};
pub use module::MODULE;
pub use settings::SECTION;

/// The log. The server opens it itself, so it has no hooks.
pub static CAPABILITY: sampan_host::Capability = sampan_host::Capability {
    name: "log",
    modules: &[&MODULE],
    sections: &[&SECTION],
    ..sampan_host::Capability::EMPTY
};
