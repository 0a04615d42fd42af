//! One request: the request table, the call of its handler, and what becomes its response.

pub(crate) mod added;
pub(crate) mod beside;
pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod declarations;
pub(crate) mod guards;
pub(crate) mod lent;
pub(crate) mod object;
pub(crate) mod response;
pub(crate) mod spans;
pub(crate) mod stream;
pub(crate) mod world;
pub(crate) mod write;
