//! One thing to measure: a route under a load, with the database it needs, if it needs one.

use crate::peers::storage::Durability;
use crate::routes::{Headers, Route};

/// The connections of an ordinary run.
pub(crate) const CONNECTIONS: u32 = 64;
/// The connections with which the authors of Gust have published figures.
pub(crate) const MANY_CONNECTIONS: u32 = 500;

/// One load on a server: the requests, and the state of the server. Reports are in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LoadCase {
    /// The number of threads that the server has.
    pub(crate) threads: u32,
    pub(crate) route: Route,
    /// The point at which a write counts as done, for the routes of a database.
    pub(crate) durability: Option<Durability>,
    pub(crate) connections: u32,
    pub(crate) headers: Headers,
}

impl LoadCase {
    /// A route without a database, on an ordinary number of connections.
    pub(crate) fn plain(route: Route, headers: Headers, threads: u32) -> Self {
        Self {
            threads,
            route,
            durability: None,
            connections: CONNECTIONS,
            headers,
        }
    }

    /// Returns the title for the headings of reports.
    pub(crate) fn title(&self) -> String {
        let mut title = self.route.title().to_owned();
        if let Some(durability) = self.durability {
            let workers = if self.threads == 1 {
                "worker"
            } else {
                "workers"
            };
            title += &format!(", {}, {} {workers}", durability.word(), self.threads);
        }
        match self.connections {
            1 => title += ", one connection",
            MANY_CONNECTIONS => title += &format!(", {MANY_CONNECTIONS} connections"),
            _ => {}
        }
        title += match self.headers {
            Headers::Plain => "",
            Headers::Browser => ", with a browser's headers",
            Headers::Gzip => ", gzip",
        };
        title
    }
}
