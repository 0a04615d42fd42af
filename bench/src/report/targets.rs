//! The targets against the peers: ratios of ours to theirs.

mod backup;
mod postgres;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::measure::Series;
use crate::measure::case::{CONNECTIONS, LoadCase};
use crate::measure::figures::Figure;
use crate::peers::storage::Durability::{self, Full, Normal};
use crate::peers::{
    BULLMQ, BULLMQ_EVERYSEC, BUN_DB, BUN_ETA, BUN_FETCH, BUN_STREAM, BUN_TLS, BUN_WS, EPOLL_LOOP,
    GO_HELLO, GO_LUAJIT, GO_SAMPAN, GO_SAMPAN_FILE, GO_SAMPAN_HTTP, GRAPHILE, GUST_NODE, HONO_NODE,
    JS_FETCH, JS_H2, JS_JOBS, JS_TLS, JS_WS, LUA_FETCH, LUA_H2, LUA_JOBS, LUA_TLS, LUA_WS,
    NGINX_H2, NGINX_PROXY, NGINX_STATIC, NGINX_TLS, NODE_FETCH, NODE_H2, NODE_WS, OUR_HONO_NODE,
    Peer, RIVER, RUN_BUN, RUN_NODE, SAMPAN_JS, SAMPAN_JS_BODIES, SAMPAN_LUA, SERVE_BUN, SERVE_NODE,
};
use crate::routes::{Headers, Route};

pub(crate) use backup::backup;
pub(crate) use postgres::postgres;

/// The most that a browser's headers may add to a request's cost.
const BROWSER_RATIO_MAX: f64 = 1.10;

/// A row of a table.
#[derive(Clone, Copy)]
pub(crate) struct RatioTarget {
    /// The ids of two peers.
    ours: &'static str,
    theirs: &'static str,
    route: Route,
    connections: u32,
    /// Ours and theirs, where there is a database.
    durability: Option<(Durability, Durability)>,
    limit: Limit,
    /// The aim beyond the target.
    aim: Option<f64>,
}

/// The limit of the ratio of a figure.
#[derive(Clone, Copy)]
enum Limit {
    /// CPU time per request.
    CostAtMost(f64),
    /// Requests per second.
    RateAtLeast(f64),
}

use Limit::{CostAtMost, RateAtLeast};

/// `bench hello`.
#[rustfmt::skip]
pub(crate) const HELLO: &[RatioTarget] = &[
    cost(SAMPAN_LUA, "nginx", Route::Version, 0.90),
    cost(SAMPAN_LUA, "bun", Route::Version, 0.92),
    cost(SAMPAN_LUA, "nginx-lua", Route::Greet, 0.92),
    RatioTarget { aim: Some(0.84), ..cost(SAMPAN_LUA, "bun", Route::Greet, 0.90) },
    RatioTarget { aim: Some(0.90), ..cost(SAMPAN_JS, "bun", Route::Greet, 0.96) },
    cost(SAMPAN_LUA, "bun", Route::Echo, 0.95),
    cost(SAMPAN_JS, "bun", Route::Echo, 0.95),
    cost(SAMPAN_JS_BODIES, "bun", Route::Headers, 1.50),
    cost(SAMPAN_JS_BODIES, "bun", Route::Length10k, 1.10),
    cost(SAMPAN_JS_BODIES, "bun", Route::Length1m, 1.10),
    cost(SAMPAN_JS_BODIES, "bun", Route::Count10k, 2.00),
    cost(SAMPAN_JS_BODIES, "bun", Route::Count1m, 2.00),
    cost(SAMPAN_JS_BODIES, "bun", Route::Text10k, 1.10),
    cost(SAMPAN_JS_BODIES, "bun", Route::Text100k, 1.10),
    cost(SAMPAN_JS_BODIES, "bun", Route::Text1m, 1.10),
];

/// `bench db`: costs where neither side waits for the disk, and rates of ours where each INSERT is answered after its
/// fsync.
#[rustfmt::skip]
pub(crate) const DB: &[RatioTarget] = &[
    on_disk(SAMPAN_LUA, Route::Write, Normal, Normal, CostAtMost(0.34)),
    on_disk(SAMPAN_JS, Route::Write, Normal, Normal, CostAtMost(0.37)),
    on_disk(SAMPAN_LUA, Route::Write, Full, Full, RateAtLeast(12.0)),
    on_disk(SAMPAN_JS, Route::Write, Full, Full, RateAtLeast(12.0)),
    on_disk(SAMPAN_LUA, Route::Write, Full, Normal, RateAtLeast(2.5)),
    on_disk(SAMPAN_JS, Route::Write, Full, Normal, RateAtLeast(2.5)),
    on_disk(SAMPAN_LUA, Route::WriteBatch, Normal, Normal, CostAtMost(0.60)),
    on_disk(SAMPAN_JS, Route::WriteBatch, Normal, Normal, CostAtMost(0.60)),
    RatioTarget { aim: Some(0.92), ..on_disk(SAMPAN_LUA, Route::Read, Normal, Normal, CostAtMost(1.05)) },
    RatioTarget { aim: Some(1.00), ..on_disk(SAMPAN_JS, Route::Read, Normal, Normal, CostAtMost(1.20)) },
    on_disk(SAMPAN_LUA, Route::Mixed, Normal, Normal, CostAtMost(0.52)),
    on_disk(SAMPAN_JS, Route::Mixed, Normal, Normal, CostAtMost(0.60)),
    RatioTarget { connections: 1, ..on_disk(SAMPAN_LUA, Route::Write, Normal, Normal, CostAtMost(1.00)) },
    RatioTarget { connections: 1, ..on_disk(SAMPAN_JS, Route::Write, Normal, Normal, CostAtMost(1.00)) },
];

/// `bench stream`.
#[rustfmt::skip]
pub(crate) const STREAM: &[RatioTarget] = &[
    transfer(SAMPAN_LUA, Route::Upload, 0.80),
    transfer(SAMPAN_JS, Route::Upload, 0.80),
    transfer(SAMPAN_LUA, Route::Download, 1.00),
    transfer(SAMPAN_JS, Route::Download, 1.00),
];

/// `bench template`.
#[rustfmt::skip]
pub(crate) const TEMPLATE: &[RatioTarget] = &[
    cost(SAMPAN_LUA, BUN_ETA, Route::Simple, 0.85),
    cost(SAMPAN_LUA, BUN_ETA, Route::Loop, 0.82),
    cost(SAMPAN_LUA, BUN_ETA, Route::Full, 0.70),
    cost(SAMPAN_JS, BUN_ETA, Route::Simple, 0.85),
    cost(SAMPAN_JS, BUN_ETA, Route::Loop, 0.82),
    cost(SAMPAN_JS, BUN_ETA, Route::Full, 0.75),
];

/// `bench limit`.
#[rustfmt::skip]
pub(crate) const LIMIT: &[RatioTarget] = &[
    RatioTarget { aim: Some(1.10), ..cost(SAMPAN_LUA, EPOLL_LOOP, Route::Health, 1.15) },
    RatioTarget { aim: Some(1.10), ..cost(SAMPAN_JS, EPOLL_LOOP, Route::Health, 1.15) },
];

/// `bench static`.
#[rustfmt::skip]
pub(crate) const STATIC: &[RatioTarget] = &[
    cost(SAMPAN_LUA, NGINX_STATIC, Route::File4k, 1.00),
    cost(SAMPAN_LUA, NGINX_STATIC, Route::File100k, 1.10),
    cost(SAMPAN_LUA, NGINX_STATIC, Route::File10m, 1.15),
];

/// `bench gust`.
#[rustfmt::skip]
pub(crate) const GUST: &[RatioTarget] = &[
    cost(SERVE_BUN, "bun", Route::Version, 0.95),
    cost(SERVE_BUN, "bun", Route::Health, 0.90),
    cost(SERVE_BUN, "bun", Route::User, 0.90),
    cost(SERVE_BUN, "bun", Route::Echo, 1.00),
    cost(SERVE_NODE, "node", Route::Health, 0.45),
    cost(SERVE_NODE, GUST_NODE, Route::Health, 0.40),
    RatioTarget { aim: Some(0.75), ..cost(OUR_HONO_NODE, HONO_NODE, Route::Health, 0.85) },
    RatioTarget { durability: Some((Normal, Normal)), ..cost(RUN_NODE, "fastify-db", Route::Write, 0.35) },
    RatioTarget { durability: Some((Normal, Normal)), ..cost(RUN_BUN, BUN_DB, Route::Write, 0.50) },
];

/// `bench golua`.
#[rustfmt::skip]
pub(crate) const GOLUA: &[RatioTarget] = &[
    cost(GO_SAMPAN, GO_LUAJIT, Route::Cached, 0.15),
    cost(GO_SAMPAN_HTTP, GO_LUAJIT, Route::Cached, 0.30),
    cost(GO_SAMPAN_FILE, GO_LUAJIT, Route::FromFile, 0.30),
    cost(GO_SAMPAN, GO_HELLO, Route::Native, 0.80),
];

/// `bench tls`. As many handshakes in a second of the processor are as much of it for each.
#[rustfmt::skip]
pub(crate) const TLS: &[RatioTarget] = &[
    cost(LUA_TLS, NGINX_TLS, Route::Version, 0.95),
    cost(LUA_TLS, NGINX_TLS, Route::Health, 0.95),
    cost(JS_TLS, NGINX_TLS, Route::Health, 0.95),
    cost(LUA_TLS, BUN_TLS, Route::Version, 0.90),
    cost(LUA_TLS, BUN_TLS, Route::Health, 0.90),
    cost(JS_TLS, BUN_TLS, Route::Health, 0.90),
    cost(LUA_TLS, NGINX_TLS, Route::FullHandshake, 1.00),
    cost(LUA_TLS, NGINX_TLS, Route::ResumedHandshake, 1.00),
];

/// `bench h2`.
#[rustfmt::skip]
pub(crate) const H2: &[RatioTarget] = &[
    cost(LUA_H2, NGINX_H2, Route::Version, 1.10),
    cost(LUA_H2, NODE_H2, Route::Health, 0.35),
    cost(JS_H2, NODE_H2, Route::Health, 0.35),
];

/// `bench ws`.
#[rustfmt::skip]
pub(crate) const WS: &[RatioTarget] = &[
    cost(LUA_WS, BUN_WS, Route::Echo20, 1.00),
    cost(JS_WS, BUN_WS, Route::Echo20, 1.00),
    cost(LUA_WS, NODE_WS, Route::Echo20, 0.40),
    cost(JS_WS, NODE_WS, Route::Echo20, 0.40),
    cost(LUA_WS, BUN_WS, Route::Echo16k, 1.00),
    cost(JS_WS, BUN_WS, Route::Echo16k, 1.00),
    cost(LUA_WS, NODE_WS, Route::Echo16k, 0.40),
    cost(JS_WS, NODE_WS, Route::Echo16k, 0.40),
    cost(LUA_WS, BUN_WS, Route::Publish, 1.00),
    cost(JS_WS, BUN_WS, Route::Publish, 1.00),
];

/// `bench fetch`. What is parsed has no target of its own.
#[rustfmt::skip]
pub(crate) const FETCH: &[RatioTarget] = &[
    cost(LUA_FETCH, BUN_FETCH, Route::Passed, 1.00),
    cost(JS_FETCH, BUN_FETCH, Route::Passed, 1.00),
    cost(LUA_FETCH, NODE_FETCH, Route::Passed, 0.30),
    cost(JS_FETCH, NODE_FETCH, Route::Passed, 0.30),
    cost(LUA_FETCH, NGINX_PROXY, Route::Passed, 1.60),
    cost(JS_FETCH, NGINX_PROXY, Route::Passed, 1.60),
];

/// `bench jobs`: jobs per second.
#[rustfmt::skip]
pub(crate) const JOBS: &[RatioTarget] = &[
    jobs(LUA_JOBS, RIVER),
    jobs(JS_JOBS, RIVER),
    jobs(LUA_JOBS, GRAPHILE),
    jobs(JS_JOBS, GRAPHILE),
    jobs(LUA_JOBS, BULLMQ),
    jobs(JS_JOBS, BULLMQ),
    jobs(LUA_JOBS, BULLMQ_EVERYSEC),
    jobs(JS_JOBS, BULLMQ_EVERYSEC),
];

const fn jobs(ours: &'static str, theirs: &'static str) -> RatioTarget {
    RatioTarget {
        limit: RateAtLeast(1.00),
        ..cost(ours, theirs, Route::EmptyJob, 0.0)
    }
}

const fn transfer(ours: &'static str, route: Route, ratio_max: f64) -> RatioTarget {
    RatioTarget {
        connections: 1,
        ..cost(ours, BUN_STREAM, route, ratio_max)
    }
}

const fn cost(
    ours: &'static str,
    theirs: &'static str,
    route: Route,
    ratio_max: f64,
) -> RatioTarget {
    RatioTarget {
        ours,
        theirs,
        route,
        connections: CONNECTIONS,
        durability: None,
        limit: CostAtMost(ratio_max),
        aim: None,
    }
}

const fn on_disk(
    ours: &'static str,
    route: Route,
    own: Durability,
    their: Durability,
    limit: Limit,
) -> RatioTarget {
    RatioTarget {
        durability: Some((own, their)),
        limit,
        ..cost(ours, BUN_DB, route, 0.0)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CostAtMost(most) => write!(out, "at most {most:.2}"),
            RateAtLeast(least) => write!(out, "at least {least:.2}"),
        }
    }
}

impl RatioTarget {
    /// The row with what was measured, on so many threads.
    fn judge(&self, series: &[Series], threads: u32) -> Figure {
        let case = |durability| LoadCase {
            durability,
            connections: self.connections,
            ..LoadCase::plain(self.route, Headers::Plain, threads)
        };
        let durability = self.durability.unzip();
        let (ours, theirs) = (
            (self.ours, case(durability.0)),
            (self.theirs, case(durability.1)),
        );
        let title = |id| Peer::named(id).map_or(id, |peer| peer.title);
        let (figure, their) = match (self.limit, durability.1) {
            (CostAtMost(_), _) => ("", String::new()),
            (RateAtLeast(_), None) => (", per second", String::new()),
            (RateAtLeast(_), Some(their)) => (", requests/s", format!(", {}", their.word())),
        };
        let (us, what, them) = (title(ours.0), ours.1.title(), title(theirs.0));
        let what = format!("{us}: {what}{figure}, against {them}{their}");
        compare(series, what, ours, theirs, self.limit, self.aim)
    }
}

fn compare(
    series: &[Series],
    what: String,
    ours: (&str, LoadCase),
    theirs: (&str, LoadCase),
    limit: Limit,
    aim: Option<f64>,
) -> Figure {
    let find = |(id, case)| {
        series
            .iter()
            .find(|one| one.peer.id == id && one.case == case && one.fault.is_none())
    };
    let ratio = find(ours).zip(find(theirs)).and_then(|(ours, theirs)| {
        ours.ratio_to(theirs, |sample| match limit {
            CostAtMost(_) => sample.cpu_micros,
            RateAtLeast(_) => sample.seen.per_second,
        })
    });
    let aim = aim.map(|aim| format!(" (aim {aim:.2})"));
    Figure {
        what,
        value: ratio.map_or_else(|| "not measured".to_owned(), |ratio| format!("{ratio:.2}")),
        wanted: format!("{limit}{}", aim.unwrap_or_default()),
        reached: ratio.map(|ratio| match limit {
            CostAtMost(most) => ratio <= most,
            RateAtLeast(least) => ratio >= least,
        }),
    }
}

/// Every row, and one for each of ours that was measured with a browser's headers too.
pub(crate) fn judge(targets: &[RatioTarget], series: &[Series], threads: u32) -> Vec<Figure> {
    let against_peers = targets.iter().map(|target| target.judge(series, threads));
    let is_with_headers =
        |one: &&Series| one.peer.is_ours() && one.case.headers == Headers::Browser;
    let with_headers = series.iter().filter(is_with_headers).map(|one| {
        let plain = LoadCase {
            headers: Headers::Plain,
            ..one.case
        };
        let what = format!("{}: {}, against without", one.peer.title, one.case.title());
        let (with, without) = ((one.peer.id, one.case), (one.peer.id, plain));
        compare(
            series,
            what,
            with,
            without,
            CostAtMost(BROWSER_RATIO_MAX),
            None,
        )
    });
    against_peers.chain(with_headers).collect()
}
