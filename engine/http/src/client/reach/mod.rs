//! The way to another server: its addresses, which of them are allowed, and the connection.

mod connect;
mod lookup;
mod policy;
mod proxy;
mod tls;
mod wire;

pub(super) use connect::{Reached, Reaching, connect};
pub use lookup::{Lookups, Resolve};
pub use policy::AddressPolicy;
pub(super) use tls::{TlsClient, check_authorities};
pub(super) use wire::Wire;
