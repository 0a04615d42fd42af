//! The routes of a project, and the middleware and guards around them.

pub(crate) mod chain_steps;
pub(crate) mod covers;
pub(crate) mod guard_order;
pub(crate) mod host_name;
pub mod host_pattern;
pub mod mixed;
pub mod names;
pub mod normal_form;
pub mod pattern;
pub mod routes;
pub mod segment;
pub mod spans;
pub(crate) mod wrapping;
