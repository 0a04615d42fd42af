//! Which route answers a request.

pub(crate) mod loaded;
pub(crate) mod names;
pub(crate) mod pattern;
pub(crate) mod routes;
pub(crate) mod wrapping;
