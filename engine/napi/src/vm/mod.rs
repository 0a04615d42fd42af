//! The isolate: how it is made from the runtime of this thread, what its functions are, and its errors.

pub(crate) mod bind;
pub(crate) mod call_site;
pub(crate) mod callback;
pub(crate) mod core;
pub(crate) mod declare;
pub(crate) mod error;
pub(crate) mod load;
pub(crate) mod platform;
