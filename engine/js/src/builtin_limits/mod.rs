//! Built-in functions that could run for long without being interrupted, and what bounds them.

mod call;
mod elements;
pub(crate) mod guard;
mod parse;
mod rules;
mod stringify;
mod texts;
pub(crate) mod work;
