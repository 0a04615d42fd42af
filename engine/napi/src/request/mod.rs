//! Requests on their way into a script, and answers on their way out.

pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod object;
pub(crate) mod response;
pub(crate) mod slots;
pub(crate) mod stream;
