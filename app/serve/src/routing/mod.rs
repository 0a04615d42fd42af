//! The routes of a project, and the middleware and guards around them.

pub(crate) mod chain_steps;
pub mod names;
pub mod pattern;
pub mod routes;
pub mod spans;
pub(crate) mod wrapping;
