//! A cache in the memory of the process, which all its workers share, or in a table that processes share.
//!
//! `CacheStore` has the entries and the values that are being made. A change that may depend on writes which are not
//! committed is kept by its worker (`changes`) until they are, so no other worker sees it before. `answers` keeps whole
//! answers, in a store of their own.

mod answers;
mod arguments;
mod capability;
mod changes;
mod counts;
mod entries;
mod fillings;
mod limits;
mod rows;
mod server;
mod server_rows;
mod settings;
mod statements;
mod store;

pub use capability::CAPABILITY;
pub use settings::{CacheConfig, SECTION};
