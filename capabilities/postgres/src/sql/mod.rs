//! SQL as scripts write it: its tokens, its parameters, and the kind of a statement.

mod parse;
#[cfg(test)]
mod tests;
mod tokens;

pub(crate) use parse::{Sql, Verb};
