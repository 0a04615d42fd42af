//! A project looked at without serving it: what it declares (`sampan routes`), what is wrong with it (`sampan check`),
//! and what the copy of its database can restore (`sampan db restore --list`).
//!
//! It is loaded as a server loads it, `on_start` included, but on a fresh database in a folder of the caller's.

mod check;
mod copies;
mod express;
mod foreign;
mod look;
pub(crate) mod promises;
mod routes;
mod trial;
mod unmatched;
mod work;

pub use check::{CheckReport, check};
pub use promises::misused_promises;
pub use routes::{ProjectDeclarations, RouteKind, RouteLaneWord, RouteRow, routes};
pub(crate) use trial::try_out;
pub use work::{WorkKind, WorkRow};
