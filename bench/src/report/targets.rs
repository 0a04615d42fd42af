//! What must be reached against the peers in `bench hello`: ratios of CPU time per request, ours divided by theirs.

use std::fmt;

use crate::peers::{SAMPAN_JS, SAMPAN_LUA};
use crate::suites::measure::Series;
use crate::suites::routes::{Headers, Route};

/// The most that a browser's headers may add to a request's cost.
const BROWSER_RATIO_MAX: f64 = 1.10;

/// A row of the table.
struct Target {
    what: &'static str,
    ours: &'static str,
    theirs: &'static str,
    route: Route,
    ratio_max: f64,
    aim: Option<f64>,
}

const TARGETS: &[Target] = &[
    row(
        "precomputed GET /version against nginx `return 200`",
        SAMPAN_LUA,
        "nginx",
        Route::Version,
        0.90,
        None,
    ),
    row(
        "precomputed GET /version against Bun's static route",
        SAMPAN_LUA,
        "bun",
        Route::Version,
        0.92,
        None,
    ),
    row(
        "Lua GET /greet/:name against nginx + Lua",
        SAMPAN_LUA,
        "nginx-lua",
        Route::Greet,
        0.92,
        None,
    ),
    row(
        "Lua GET /greet/:name against Bun.serve",
        SAMPAN_LUA,
        "bun",
        Route::Greet,
        0.90,
        Some(0.84),
    ),
    row(
        "JavaScript GET /greet/:name against Bun.serve",
        SAMPAN_JS,
        "bun",
        Route::Greet,
        0.96,
        Some(0.90),
    ),
    row(
        "Lua POST /echo against Bun.serve",
        SAMPAN_LUA,
        "bun",
        Route::Echo,
        0.95,
        None,
    ),
    row(
        "JavaScript POST /echo against Bun.serve",
        SAMPAN_JS,
        "bun",
        Route::Echo,
        0.95,
        None,
    ),
];

const fn row(
    what: &'static str,
    ours: &'static str,
    theirs: &'static str,
    route: Route,
    ratio_max: f64,
    aim: Option<f64>,
) -> Target {
    Target {
        what,
        ours,
        theirs,
        route,
        ratio_max,
        aim,
    }
}

/// A row with what was measured.
#[derive(Debug, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) what: String,
    /// Ours divided by theirs, as [`Series::ratio_to`] has it; nothing where either is missing.
    pub(crate) ratio: Option<f64>,
    pub(crate) limit: Limit,
    /// What we hope for beyond what we must.
    pub(crate) aim: Option<f64>,
}

/// Where a ratio must stay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    /// For costs.
    AtMost(f64),
    /// For what is done in a time.
    AtLeast(f64),
}

impl Limit {
    /// The greatest ratio that is right.
    pub(crate) fn most(self) -> Option<f64> {
        match self {
            Self::AtMost(most) => Some(most),
            Self::AtLeast(_) => None,
        }
    }

    /// The least ratio that is right.
    pub(crate) fn least(self) -> Option<f64> {
        match self {
            Self::AtMost(_) => None,
            Self::AtLeast(least) => Some(least),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(out, "at most {most:.2}"),
            Self::AtLeast(least) => write!(out, "at least {least:.2}"),
        }
    }
}

impl Verdict {
    /// Whether the row is reached; nothing where it was not measured.
    pub(crate) fn reached(&self) -> Option<bool> {
        self.ratio.map(|ratio| match self.limit {
            Limit::AtMost(most) => ratio <= most,
            Limit::AtLeast(least) => ratio >= least,
        })
    }
}

/// Every row, and one for a browser's headers on each of our routes.
pub(crate) fn verdicts(series: &[Series]) -> Vec<Verdict> {
    let of = |peer: &str, route: Route, headers: Headers| {
        series.iter().find(|one| {
            one.peer.id == peer && one.case.route == route && one.case.headers == headers
        })
    };
    let ratio = |ours: Option<&Series>, theirs: Option<&Series>| {
        ours?.ratio_to(theirs?, |sample| sample.cpu_micros)
    };
    let against_peers = TARGETS.iter().map(|target| Verdict {
        what: target.what.to_owned(),
        ratio: ratio(
            of(target.ours, target.route, Headers::Plain),
            of(target.theirs, target.route, Headers::Plain),
        ),
        limit: Limit::AtMost(target.ratio_max),
        aim: target.aim,
    });
    let with_headers = series
        .iter()
        .filter(|one| one.peer.is_ours() && one.case.headers == Headers::Browser)
        .map(|one| {
            let (peer, route) = (one.peer.id, one.case.route);
            Verdict {
                what: format!(
                    "{}, {}: with a browser's headers against without",
                    one.peer.title,
                    route.title()
                ),
                ratio: ratio(
                    of(peer, route, Headers::Browser),
                    of(peer, route, Headers::Plain),
                ),
                limit: Limit::AtMost(BROWSER_RATIO_MAX),
                aim: None,
            }
        });
    against_peers.chain(with_headers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites::case::Case;
    use crate::suites::measure::tests::series;

    #[test]
    fn rows_without_figures_are_not_reached() {
        let version = |headers| Case::plain(Route::Version, headers, 1);
        let measured = [
            series(SAMPAN_LUA, version(Headers::Plain), &[6.0, 6.0, 90.0]),
            series("nginx", version(Headers::Plain), &[1.0, 8.0, 120.0]),
            series(SAMPAN_LUA, version(Headers::Browser), &[7.2]),
        ];
        let found = verdicts(&measured);
        assert_eq!(
            (found[0].ratio, found[0].reached()),
            (Some(0.75), Some(true))
        );
        assert_eq!((found[1].ratio, found[1].reached()), (None, None));
        assert_eq!(found.len(), TARGETS.len() + 1);
        assert_eq!(
            found[TARGETS.len()].reached(),
            Some(false),
            "1.2 is over 1.10"
        );
    }
}
