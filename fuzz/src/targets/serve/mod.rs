//! From a request to its answer: paths and routes, cookies, files.

pub(crate) mod cookies;
pub(crate) mod files;
pub(crate) mod paths;
