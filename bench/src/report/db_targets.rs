//! What must be reached against Bun in `bench db`, with one worker.

use crate::peers::storage::Durability::{self, Full, Normal};
use crate::peers::{BUN_DB, SAMPAN_JS, SAMPAN_LUA};
use crate::report::targets::{Limit, Verdict};
use crate::suites::case::{CONNECTIONS, Case};
use crate::suites::measure::{Sample, Series};
use crate::suites::routes::{Headers, Route};

/// What is compared.
#[derive(Clone, Copy, PartialEq)]
enum Figure {
    /// CPU time per request.
    Cpu,
    /// Requests per second.
    Rate,
}

impl Figure {
    fn of(self, sample: &Sample) -> f64 {
        match self {
            Self::Cpu => sample.cpu_micros,
            Self::Rate => sample.seen.per_second,
        }
    }
}

/// A row of the table, once for each language.
struct Target {
    route: Route,
    connections: u32,
    figure: Figure,
    ours: Durability,
    theirs: Durability,
    lua: (Limit, Option<f64>),
    js: (Limit, Option<f64>),
}

const fn most(ratio: f64) -> (Limit, Option<f64>) {
    (Limit::AtMost(ratio), None)
}

const fn least(ratio: f64) -> (Limit, Option<f64>) {
    (Limit::AtLeast(ratio), None)
}

const fn aim(ratio: f64, aim: f64) -> (Limit, Option<f64>) {
    (Limit::AtMost(ratio), Some(aim))
}

/// CPU time on 64 connections, both sides without waiting for the disk.
const fn cost(route: Route, lua: (Limit, Option<f64>), js: (Limit, Option<f64>)) -> Target {
    Target {
        route,
        connections: CONNECTIONS,
        figure: Figure::Cpu,
        ours: Normal,
        theirs: Normal,
        lua,
        js,
    }
}

/// Requests per second of single INSERTs on 64 connections, ours each answered after its fsync.
const fn rate(theirs: Durability, ratio: f64) -> Target {
    Target {
        route: Route::Write,
        connections: CONNECTIONS,
        figure: Figure::Rate,
        ours: Full,
        theirs,
        lua: least(ratio),
        js: least(ratio),
    }
}

const TARGETS: &[Target] = &[
    cost(Route::Write, most(0.34), most(0.37)),
    rate(Full, 12.0),
    rate(Normal, 2.5),
    cost(Route::WriteBatch, most(0.60), most(0.60)),
    cost(Route::Read, aim(1.05, 0.92), aim(1.20, 1.00)),
    cost(Route::Mixed, most(0.52), most(0.60)),
    Target {
        connections: 1,
        ..cost(Route::Write, most(1.00), most(1.00))
    },
];

impl Target {
    fn series<'a>(
        &self,
        series: &'a [Series],
        peer: &str,
        durability: Durability,
    ) -> Option<&'a Series> {
        let case = Case {
            threads: 1,
            route: self.route,
            durability: Some(durability),
            connections: self.connections,
            headers: Headers::Plain,
        };
        series
            .iter()
            .find(|one| one.peer.id == peer && one.case == case)
    }

    fn what(&self, language: &str) -> String {
        let connections = if self.connections == 1 {
            ", one connection"
        } else {
            ""
        };
        let figure = match self.figure {
            Figure::Cpu => "",
            Figure::Rate => ", requests/s",
        };
        format!(
            "{language} {}, {}{connections}{figure}, against Bun, {}",
            self.route.title(),
            self.ours.word(),
            self.theirs.word()
        )
    }
}

/// Every row with what was measured.
pub(crate) fn verdicts(series: &[Series]) -> Vec<Verdict> {
    let of = |target: &Target, language, peer, (limit, aim)| {
        let ours = target.series(series, peer, target.ours);
        let theirs = target.series(series, BUN_DB, target.theirs);
        Verdict {
            what: target.what(language),
            ratio: ours.zip(theirs).and_then(|(ours, theirs)| {
                ours.ratio_to(theirs, |sample| target.figure.of(sample))
            }),
            limit,
            aim,
        }
    };
    TARGETS
        .iter()
        .flat_map(|target| {
            [
                of(target, "Lua", SAMPAN_LUA, target.lua),
                of(target, "JavaScript", SAMPAN_JS, target.js),
            ]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites::measure::tests::series;

    fn write(durability: Durability, connections: u32) -> Case {
        Case {
            durability: Some(durability),
            connections,
            ..Case::plain(Route::Write, Headers::Plain, 1)
        }
    }

    fn verdict(found: &[Verdict], what: &str) -> (Option<f64>, Option<bool>) {
        let one = found.iter().find(|one| one.what == what);
        let one = one.unwrap_or_else(|| panic!("no row {what}"));
        (one.ratio, one.reached())
    }

    #[test]
    fn costs_must_be_low_and_rates_high() {
        let measured = [
            series(SAMPAN_LUA, write(Normal, 64), &[10.0]),
            series(BUN_DB, write(Normal, 64), &[40.0]),
            series(SAMPAN_JS, write(Full, 64), &[11.0]),
            series(BUN_DB, write(Full, 64), &[100.0]),
        ];
        let found = verdicts(&measured);
        let of = |what| verdict(&found, what);
        assert_eq!(
            of("Lua POST /write, normal, against Bun, normal"),
            (Some(0.25), Some(true))
        );
        assert_eq!(
            of("JavaScript POST /write, full, requests/s, against Bun, full"),
            (Some(1.0), Some(false)),
            "as fast is not twelve times as fast"
        );
        assert_eq!(
            of("Lua POST /write, normal, one connection, against Bun, normal"),
            (None, None)
        );
        assert_eq!(found.len(), 2 * TARGETS.len());
    }
}
