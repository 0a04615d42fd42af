//! Built-in functions that could run for long without being interrupted, and what bounds them.

pub(crate) mod guard;
mod rules;
pub(crate) mod work;
