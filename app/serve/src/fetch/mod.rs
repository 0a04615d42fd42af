//! Requests of scripts to other servers: the [`Fetcher`](sampan_host::fetch::Fetcher) of capabilities, over the client
//! of the HTTP engine, and `[fetch]`.

mod fetcher;
mod settings;

pub use fetcher::{FetchReach, LocalNetwork, client_everywhere, isolate, process};
pub use settings::{SECTION, configure, read};
