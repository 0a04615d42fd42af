//! The routes of a project, and the middleware and guards around them.

pub mod names;
pub mod pattern;
pub mod routes;
pub(crate) mod wrapping;
