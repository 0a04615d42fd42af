//! SQL as scripts write it: its tokens, its parameters, and the kind of a statement.

mod calls;
mod functions;
mod integer_keys;
mod parse;
#[cfg(test)]
mod tests;
mod tokens;

pub use integer_keys::{IntegerKey, integer_keys};
pub use parse::{ServerSql, server_sql};
pub(crate) use parse::{Sql, Verb};
pub use tokens::statements;
