//! One thing to measure: a route under a load, with the database it needs, if it needs one.

use super::routes::{Headers, Route};
use super::storage::Durability;

/// The connections of an ordinary run.
pub(super) const CONNECTIONS: u32 = 64;

/// What a server is asked, how it runs meanwhile, and how it is asked. Reports are in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Case {
    /// How many threads the server has.
    pub(super) threads: u32,
    pub(super) route: Route,
    /// When a write counts as done, for the routes of a database.
    pub(super) durability: Option<Durability>,
    pub(super) connections: u32,
    pub(super) headers: Headers,
}

impl Case {
    /// A route without a database, on an ordinary number of connections.
    pub(super) fn plain(route: Route, headers: Headers, threads: u32) -> Self {
        Self {
            threads,
            route,
            durability: None,
            connections: CONNECTIONS,
            headers,
        }
    }

    /// For the headings of reports.
    pub(super) fn title(&self) -> String {
        let mut title = self.route.title().to_owned();
        if let Some(durability) = self.durability {
            let workers = if self.threads == 1 {
                "worker"
            } else {
                "workers"
            };
            title += &format!(", {}, {} {workers}", durability.word(), self.threads);
        }
        if self.connections == 1 {
            title += ", one connection";
        }
        if self.headers == Headers::Browser {
            title += ", with a browser's headers";
        }
        title
    }
}
