//! The limits on scripts' SQL, in actions and time.

pub(crate) mod authorizer;
pub(crate) mod chars;
pub(crate) mod functions;
pub(crate) mod search;
