//! One thing to measure: a route under a load, with the database it needs, if it needs one.

use crate::peers::storage::Durability;
use crate::routes::{Headers, Route};

/// The connections of an ordinary run.
pub(crate) const CONNECTIONS: u32 = 64;

/// The load program. Reports are in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LoadProgram {
    /// wrk.
    Wrk,
    /// bombardier, with which others have published figures.
    Bombardier,
}

impl LoadProgram {
    /// Returns the name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wrk => "wrk",
            Self::Bombardier => "bombardier",
        }
    }
}

/// One load on a server: the requests, the state of the server, and the program. Reports are in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LoadCase {
    /// The number of threads that the server has.
    pub(crate) threads: u32,
    pub(crate) route: Route,
    /// When a write counts as done, for the routes of a database.
    pub(crate) durability: Option<Durability>,
    pub(crate) connections: u32,
    pub(crate) headers: Headers,
    pub(crate) program: LoadProgram,
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
            program: LoadProgram::Wrk,
        }
    }

    /// For the headings of reports.
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
        if self.connections == 1 {
            title += ", one connection";
        }
        if self.program == LoadProgram::Bombardier {
            title += &format!(", bombardier, {} connections", self.connections);
        }
        title += match self.headers {
            Headers::Plain => "",
            Headers::Browser => ", with a browser's headers",
            Headers::Gzip => ", gzip",
        };
        title
    }
}
