//! Routes that the program answers which Sampan is a part of.
//!
//! A [`NativeRoute`] stands in the same tree as the routes of scripts. Guards check its requests like any others. Where
//! middleware of the script matches its path, that runs first, as it does around a file: what `next` gives there stands
//! for the answer to come, and the native handler runs once the middleware has returned it. Middleware that returns
//! something else answers in its place.

pub(crate) mod answer;
pub(crate) mod request;
pub(crate) mod route;
mod stream;

pub use request::NativeRequest;
pub use route::{NativeAnswer, NativeHandler, NativeRoute};
