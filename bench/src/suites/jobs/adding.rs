//! Adding a job in the transaction of a request, beside one more INSERT there.

use super::JobsBench;
use super::rate::{median, number};
use crate::load::load;
use crate::measure::case::{CONNECTIONS, LoadCase};
use crate::measure::figures::Figure;
use crate::measure::{Sample, Series, Skipped, rounds, sample};
use crate::peers::Peer;
use crate::peers::placement::Placement;
use crate::peers::storage::Durability;
use crate::routes::check;
use crate::routes::{Headers, Route, WRITES};
use crate::suites::db;
use sampan_client::Client;

/// The load, for the report.
pub(super) const LOAD: &str = "64 connections, one worker, durability full, no threads for jobs";
/// The most that adding a job may cost, divided by the cost of a second INSERT.
const RATIO_MAX: f64 = 1.3;

/// The figures of a sample that are compared.
type Cost = (&'static str, fn(&Sample) -> f64);

const COSTS: [Cost; 2] = [
    ("CPU time", |sample| sample.cpu_micros),
    ("time", |sample| 1e6 / sample.seen.per_second),
];

/// The routes that are compared: with jobs, with as many INSERTs.
const COMPARED: [(&str, Route, Route); 2] = [
    ("one job", Route::InsertEnqueue, Route::InsertInsert),
    ("ten jobs", Route::EnqueueTen, Route::InsertTen),
];

impl JobsBench<'_> {
    /// Measures all routes that write.
    pub(super) fn adding(&mut self) -> Vec<Series> {
        let mut series = Vec::new();
        for &route in WRITES {
            let ours = self
                .setup
                .installed
                .iter()
                .filter(|(peer, _)| peer.is_ours());
            series.extend(ours.map(|(peer, _)| Series::new(peer, case(route))));
        }
        let mut skipped = Vec::new();
        let rounds_wanted = self.options.shared.rounds;
        let series = rounds(series, rounds_wanted, &mut skipped, |one, round| {
            self.one_adding(one.peer, one.case, round)
        });
        for one in skipped {
            Skipped::note(&mut self.setup.skipped, one.what, one.why);
        }
        series
    }

    fn one_adding(
        &self,
        peer: &'static Peer,
        case: LoadCase,
        round: u32,
    ) -> Result<Sample, String> {
        let setup = &*self.setup;
        let storage = setup.storage(Durability::Full, "[jobs]\nworkers = 0\n")?;
        let placement = Placement::here(1);
        let server = setup.start_with(peer, &placement, 1, Some(&storage))?;
        check::check(server.address(), case.route)?;
        let load = |seconds| load(&setup.root, &placement, server.address(), case, seconds);
        let warmed = load(db::WARM_UP_SECONDS)?;
        let sample = sample(&server, round, || load(self.options.shared.seconds))?;
        let acknowledged = warmed.fulfilled() + sample.seen.fulfilled();
        db::audit(&server, case, 0, acknowledged)?;
        let each = case.route.jobs_added();
        if each > 0 {
            let mut client =
                Client::connect(server.address()).map_err(|error| error.to_string())?;
            let left = number(&mut client, "GET", "/left", "left")?;
            if left < each * acknowledged {
                return Err(format!(
                    "it has {left} jobs where {} were acknowledged",
                    each * acknowledged
                ));
            }
        }
        Ok(sample)
    }
}

fn case(route: Route) -> LoadCase {
    LoadCase {
        connections: CONNECTIONS,
        durability: Some(Durability::Full),
        ..LoadCase::plain(route, Headers::Plain, 1)
    }
}

/// The cost of jobs divided by that of as many INSERTs, both beside one INSERT.
pub(super) fn judge(series: &[Series]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for one in series.iter().filter(|one| one.case == case(Route::Insert)) {
        let of = |route| {
            let is_it = |other: &&Series| other.peer.id == one.peer.id && other.case == case(route);
            series.iter().find(is_it)
        };
        for (what, with_jobs, with_rows) in COMPARED {
            let (Some(jobs), Some(rows)) = (of(with_jobs), of(with_rows)) else {
                continue;
            };
            figures.extend(COSTS.iter().filter_map(|&(cost, figure)| {
                let what = format!("{}: adding {what} beside an INSERT, {cost}", one.peer.title);
                compare(what, [one, jobs, rows], figure)
            }));
        }
    }
    figures
}

/// Compares what two series cost beyond the first.
fn compare(
    what: String,
    [one, jobs, rows]: [&Series; 3],
    figure: fn(&Sample) -> f64,
) -> Option<Figure> {
    let of = |series: &Series, round: u32| {
        let mut samples = series.samples.iter();
        samples.find(|sample| sample.round == round).map(figure)
    };
    let rounds = one.samples.iter().filter_map(|sample| {
        let base = figure(sample);
        Some((
            of(jobs, sample.round)? - base,
            of(rows, sample.round)? - base,
        ))
    });
    let rounds: Vec<(f64, f64)> = rounds.collect();
    let jobs = median(rounds.iter().map(|(jobs, _)| *jobs))?;
    let rows = median(rounds.iter().map(|(_, rows)| *rows))?;
    // Of medians: differences are small beside what one round differs from another.
    let ratio = jobs.median / rows.median;
    Some(Figure {
        what,
        value: format!(
            "{ratio:.2} × as many INSERTs ({} against {} µs)",
            jobs.show(1),
            rows.show(1)
        ),
        wanted: format!("at most {RATIO_MAX}"),
        reached: Some(ratio > 0.0 && ratio <= RATIO_MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::series;
    use crate::peers::LUA_JOBS;

    #[test]
    fn jobs_are_compared_with_what_rows_add() {
        let of = |route, micros: &[f64]| series(LUA_JOBS, case(route), micros);
        let measured = [
            of(Route::Insert, &[10.0, 10.0, 20.0]),
            of(Route::InsertInsert, &[14.0, 15.0, 30.0]),
            of(Route::InsertEnqueue, &[15.0, 16.0, 40.0]),
        ];
        let found = judge(&measured);
        assert_eq!(
            found[0].what,
            "Sampan, Lua: adding one job beside an INSERT, CPU time"
        );
        let value = "1.20 × as many INSERTs (6.0 (5.0 to 20.0) against 5.0 (4.0 to 10.0) µs)";
        assert_eq!(
            (found[0].value.as_str(), found[0].reached),
            (value, Some(true))
        );
        assert!(judge(&measured[..2]).is_empty(), "no jobs were measured");
    }
}
