//! The targets of `bench load`: what a server does in one state divided by what it does in another, in the same round.
//! Ours are judged; the others' are told beside them.

use crate::measure::figures::Figure;
use crate::measure::{Sample, Series};
use crate::routes::Route;

/// The most that the 99th percentile of ours may be beside slow requests, in milliseconds.
const MILLIS_MAX: f64 = 5.0;

/// A row: a figure in one state, divided by that in another.
struct StateTarget {
    what: &'static str,
    state: Route,
    base: Route,
    limit: StateLimit,
}

/// The limit of the ratio.
enum StateLimit {
    /// Of 99th percentiles; the time itself may be limited too.
    P99AtMost(f64, Option<f64>),
    /// Of requests per second.
    RateAtLeast(f64),
}

use StateLimit::{P99AtMost, RateAtLeast};

#[rustfmt::skip]
const TARGETS: &[StateTarget] = &[
    target("p99 beside slow requests, of idle", Route::QuickBesideSlow, Route::QuickAlone, P99AtMost(3.0, Some(MILLIS_MAX))),
    target("p99 beside slow requests after a restart, of idle", Route::QuickLearned, Route::QuickAlone, P99AtMost(3.0, None)),
    target("p99 beside logins and large reads, of idle", Route::QuickBesideLogins, Route::QuickAlone, P99AtMost(3.0, None)),
    target("completed at 2 × the load, of the best", Route::WorkTwice, Route::WorkBest, RateAtLeast(0.90)),
    target("completed at 4 × the load, of the best", Route::WorkFourTimes, Route::WorkBest, RateAtLeast(0.85)),
    target("p99 of accepted requests at 2 × the load, of half load", Route::WorkTwice, Route::WorkHalf, P99AtMost(5.0, None)),
    target("p99 of ten clients beside one with 1,000 connections, of without", Route::TenBesideCrowd, Route::TenAlone, P99AtMost(3.0, None)),
];

const fn target(what: &'static str, state: Route, base: Route, limit: StateLimit) -> StateTarget {
    StateTarget {
        what,
        state,
        base,
        limit,
    }
}

/// The rows of all servers that were measured in both states.
pub(crate) fn judge(series: &[Series]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for target in TARGETS {
        for state in series.iter().filter(|one| one.case.route == target.state) {
            let is_base =
                |one: &&Series| one.peer.id == state.peer.id && one.case.route == target.base;
            let base = series.iter().find(is_base);
            figures.extend(base.and_then(|base| target.judge(state, base)));
        }
    }
    figures
}

impl StateTarget {
    fn judge(&self, state: &Series, base: &Series) -> Option<Figure> {
        let p99 = |sample: &Sample| sample.seen.p99_micros / 1e3;
        let rate = |sample: &Sample| sample.seen.per_second;
        let median = |series: &Series, figure: fn(&Sample) -> f64| {
            series.spread(figure).map(|spread| spread.median)
        };
        let (value, wanted, is_reached) = match self.limit {
            P99AtMost(most, millis_max) => {
                let ratio = state.ratio_to(base, p99)?;
                let (now, alone) = (median(state, p99)?, median(base, p99)?);
                let wanted = match millis_max {
                    Some(millis) => format!("at most {most}, {millis} ms"),
                    None => format!("at most {most}"),
                };
                let is_short = millis_max.is_none_or(|millis| now <= millis);
                let value = format!("{ratio:.2} ({now:.2} against {alone:.2} ms)");
                (value, wanted, ratio <= most && is_short)
            }
            RateAtLeast(least) => {
                let ratio = state.ratio_to(base, rate)?;
                let (now, best) = (median(state, rate)?, median(base, rate)?);
                let value = format!("{ratio:.2} ({now:.0} of {best:.0} requests/s)");
                (value, format!("at least {least}"), ratio >= least)
            }
        };
        let is_ours = state.peer.is_ours();
        Some(Figure {
            what: format!("{}: {}", state.peer.title, self.what),
            value,
            wanted: if is_ours { wanted } else { "-".to_owned() },
            reached: is_ours.then_some(is_reached),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::case::LoadCase;
    use crate::measure::tests::series;
    use crate::peers::{LOAD_LUA, LOAD_NODE};
    use crate::routes::Headers;

    fn of(id: &str, route: Route, p99_millis: f64, per_second: f64) -> Series {
        let case = LoadCase::plain(route, Headers::Plain, 2);
        let mut found = series(id, case, &[0.0]);
        let seen = &mut found.samples[0].seen;
        (seen.p99_micros, seen.per_second) = (p99_millis * 1e3, per_second);
        found
    }

    #[test]
    fn states_of_one_server_are_compared_and_ours_are_judged() {
        let measured = [
            of(LOAD_LUA, Route::QuickAlone, 0.5, 9.0),
            of(LOAD_LUA, Route::QuickBesideSlow, 1.0, 9.0),
            of(LOAD_NODE, Route::QuickAlone, 0.5, 9.0),
            of(LOAD_NODE, Route::QuickBesideSlow, 200.0, 9.0),
            of(LOAD_LUA, Route::WorkBest, 1.0, 2_000.0),
            of(LOAD_LUA, Route::WorkTwice, 1.0, 1_000.0),
        ];
        let rows = judge(&measured);
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (row.value.as_str(), row.wanted.as_str(), row.reached))
            .collect();
        assert_eq!(
            shown,
            [
                ("2.00 (1.00 against 0.50 ms)", "at most 3, 5 ms", Some(true)),
                ("400.00 (200.00 against 0.50 ms)", "-", None),
                (
                    "0.50 (1000 of 2000 requests/s)",
                    "at least 0.9",
                    Some(false)
                ),
            ]
        );
    }

    #[test]
    fn a_time_that_is_too_long_is_not_reached() {
        let measured = [
            of(LOAD_LUA, Route::QuickAlone, 4.0, 9.0),
            of(LOAD_LUA, Route::QuickBesideSlow, 6.0, 9.0),
        ];
        assert_eq!(judge(&measured)[0].reached, Some(false));
    }
}
