//! What the SQL of a script may do, and for how long.

pub(crate) mod authorizer;
pub(crate) mod chars;
pub(crate) mod functions;
pub(crate) mod search;
