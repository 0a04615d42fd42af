//! Jinja2 templates, rendered from the values of the script where they lie.
//!
//! minijinja parses a template and generates its code (`compile.rs`); a machine of our own runs that code over the
//! [`Reader`](sampan_host::Reader) of the call and writes what it prints straight into the body of the answer (`vm/`).
//! All without a fast path here (most filters, tests and operators) is minijinja's own, with copies of the values
//! that it needs. So a template means what it means to minijinja; `tests/oracle.rs` compares the bytes of both.

mod api;
mod capability;
mod check;
mod compile;
mod environment;
mod escape;
mod fault;
mod globals;
mod jinja2;
mod objects;
mod program;
mod script;
mod settings;
mod templates;
mod value;
mod vm;

pub use api::{ANSWERS, MODULE, TemplateStore};
pub use capability::CAPABILITY;
pub use environment::environment;
pub use settings::{SECTION, undefined};
pub use templates::Templates;
