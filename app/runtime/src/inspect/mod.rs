//! A project looked at without serving it: what it declares (`sampan routes`), and what is wrong with it (`sampan
//! check`).
//!
//! It is loaded as a server loads it, `on_start` included, but on a fresh database in a folder of the caller's.

mod check;
mod look;
mod routes;

pub use check::{CheckReport, check};
pub use routes::{RouteKind, RouteLaneWord, RouteRow, routes};
