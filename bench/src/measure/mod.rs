//! The measurement itself: every peer on every route, in turn, over several rounds.

pub(crate) mod before;
pub(crate) mod case;
pub(crate) mod cost;
pub(crate) mod figures;
pub(crate) mod idle_memory;
pub(crate) mod machine;
pub(crate) mod passed_bodies;
pub(crate) mod setup;
pub(crate) mod stuck_sockets;

use std::path::Path;

use crate::load::LoadResult;
use crate::load::prepared::Prepared;
use crate::measure::case::{CONNECTIONS, LoadCase, MANY_CONNECTIONS};
use crate::peers::Peer;
use crate::peers::placement::Placement;
use crate::peers::server::PeerServer;
use crate::report::stats::Spread;
use crate::routes::check;
use crate::routes::{GREETINGS, Headers, Route};

/// A server with its peer.
pub(crate) struct Runner {
    pub(crate) peer: &'static Peer,
    pub(crate) server: PeerServer,
}

/// One measurement.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// In which round it was taken, from 1.
    pub(crate) round: u32,
    pub(crate) seen: LoadResult,
    /// User and system time of the server for each request that was answered.
    pub(crate) cpu_micros: f64,
    pub(crate) resident_bytes: u64,
    /// The figures of the server's database.
    pub(crate) database: Option<DatabaseFigures>,
}

/// The work of a run on a database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DatabaseFigures {
    /// Rows written or read.
    pub(crate) rows_per_second: f64,
    /// The file and its write-ahead log at the end of the run.
    pub(crate) file_bytes: u64,
    pub(crate) wal_bytes: u64,
}

/// All measurements of a peer in a case, a sample for each round.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) peer: &'static Peer,
    pub(crate) case: LoadCase,
    pub(crate) samples: Vec<Sample>,
    /// The fault of answers that are shown all the same. Then no other server is compared with it.
    pub(crate) fault: Option<String>,
}

impl Series {
    /// Creates a series with nothing measured yet.
    pub(crate) fn new(peer: &'static Peer, case: LoadCase) -> Self {
        Self {
            peer,
            case,
            samples: Vec::new(),
            fault: None,
        }
    }

    /// Median and spread of a figure over the rounds.
    pub(crate) fn spread(&self, figure: impl Fn(&Sample) -> f64) -> Option<Spread> {
        Spread::of(self.samples.iter().map(figure))
    }

    /// A figure of this series divided by the same of another: the median of the rounds' ratios. What is measured in
    /// one round is close in time, while the machine may be faster or slower minutes later.
    pub(crate) fn ratio_to(&self, other: &Self, figure: impl Fn(&Sample) -> f64) -> Option<f64> {
        Spread::of(self.ratios_to(other, figure)).map(|spread| spread.median)
    }

    /// The rounds' ratios.
    pub(crate) fn ratios_to(&self, other: &Self, figure: impl Fn(&Sample) -> f64) -> Vec<f64> {
        let ratios = self.samples.iter().filter_map(|ours| {
            let theirs = other.samples.iter().find(|one| one.round == ours.round)?;
            Some(figure(ours) / figure(theirs))
        });
        ratios.collect()
    }

    /// Errors over all rounds, as `3 timeout, 1 status`; empty where there were none.
    pub(crate) fn errors(&self) -> String {
        let mut totals: Vec<(&str, u64)> = Vec::new();
        for (kind, count) in self.samples.iter().flat_map(|sample| &sample.seen.errors) {
            match totals.iter_mut().find(|(known, _)| known == kind) {
                Some((_, total)) => *total += count,
                None => totals.push((kind, *count)),
            }
        }
        totals
            .iter()
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// The measurement plan: the requests and their duration.
pub(crate) struct MeasurementPlan<'a> {
    pub(crate) root: &'a Path,
    pub(crate) placement: &'a Placement,
    pub(crate) routes: Vec<Route>,
    pub(crate) threads: u32,
    pub(crate) rounds: u32,
    pub(crate) seconds: u32,
    /// Starts a server anew for each round, if set: where a process happens to lie in memory moves a route by up to a
    /// tenth.
    pub(crate) renew: Option<&'a dyn Fn(&'static Peer) -> Result<PeerServer, String>>,
    /// The measurements of a route, beside the plain requests.
    pub(crate) extra: ExtraCases,
    /// The peers whose figures are shown although their answers are wrong.
    pub(crate) shown: &'a [&'a str],
}

/// The measurements of each route beside the plain requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExtraCases {
    None,
    /// Requests with a browser's headers, where that is telling.
    Browser,
    /// Requests on [`MANY_CONNECTIONS`].
    Many,
}

/// Something that could not be measured, and why.
#[derive(Debug)]
pub(crate) struct Skipped {
    pub(crate) what: String,
    pub(crate) why: String,
}

impl Skipped {
    /// Notes it, on the terminal too.
    pub(crate) fn note(list: &mut Vec<Self>, what: String, why: String) {
        println!("skipped: {what}: {why}");
        list.push(Self { what, why });
    }
}

impl MeasurementPlan<'_> {
    /// Checks the answers, warms up, and measures in rounds: in each, one route after the other, on it one peer after
    /// the other, without and with a browser's headers, so that those that are compared are close in time.
    pub(crate) fn run(&self, runners: &mut [Runner], skipped: &mut Vec<Skipped>) -> Vec<Series> {
        let series = self.checked(runners, skipped);
        for one in &series {
            if one.case.headers == Headers::Plain
                && one.case.connections == CONNECTIONS
                && let Some(runner) = runners.iter().find(|runner| runner.peer.id == one.peer.id)
                && let Err(fault) = self.load(&runner.server, one.case, 1)
            {
                Skipped::note(skipped, format!("warming up {}", one.peer.title), fault);
            }
        }
        let mut renewed_in = 1;
        rounds(series, self.rounds, skipped, |one, round| {
            if let Some(renew) = self.renew
                && renewed_in != round
            {
                renewed_in = round;
                for runner in runners.iter_mut() {
                    runner.server = renew(runner.peer)?;
                    let mut routes = self.routes.iter();
                    if let Some(route) = routes.find(|route| runner.peer.routes.contains(route)) {
                        let case = LoadCase::plain(*route, Headers::Plain, self.threads);
                        self.load(&runner.server, case, 1)?;
                    }
                }
            }
            let runner = runners
                .iter_mut()
                .find(|runner| runner.peer.id == one.peer.id);
            let runner = runner.ok_or("its server is gone")?;
            let mut load = self.prepare(&runner.server, one.case)?;
            let found = sample(&runner.server, round, || load.run(self.seconds));
            drop(load);
            if runner.server.is_alive() {
                found
            } else {
                Err("its server ended".to_owned())
            }
        })
    }

    /// An empty series for each route that a peer answers rightly.
    fn checked(&self, runners: &[Runner], skipped: &mut Vec<Skipped>) -> Vec<Series> {
        let mut series = Vec::new();
        for &route in &self.routes {
            for Runner { peer, server } in runners
                .iter()
                .filter(|one| one.peer.routes.contains(&route))
            {
                let fault = check::check(server.target(), route).err();
                if let Some(fault) = &fault {
                    let what = format!("{} {}", peer.title, route.title());
                    Skipped::note(skipped, what, fault.clone());
                    if !self.shown.contains(&peer.id) {
                        continue;
                    }
                }
                series.extend(self.cases(peer, route).into_iter().map(|case| Series {
                    fault: fault.clone(),
                    ..Series::new(peer, case)
                }));
            }
        }
        series
    }

    /// Returns the load cases of a peer on a route.
    fn cases(&self, peer: &Peer, route: Route) -> Vec<LoadCase> {
        let plain = LoadCase::plain(route, Headers::Plain, self.threads);
        // Everyone's headers cost something; ours are measured on all small routes, the others' where it is telling.
        let is_telling = (peer.is_ours() && GREETINGS.contains(&route))
            || matches!(route, Route::Version | Route::Greet);
        let extra = match self.extra {
            ExtraCases::Browser if is_telling => Some(LoadCase {
                headers: Headers::Browser,
                ..plain
            }),
            ExtraCases::Many if route.several().is_empty() => Some(LoadCase {
                connections: MANY_CONNECTIONS,
                ..plain
            }),
            _ => None,
        };
        [Some(plain), extra].into_iter().flatten().collect()
    }

    fn load(
        &self,
        server: &PeerServer,
        case: LoadCase,
        seconds: u32,
    ) -> Result<LoadResult, String> {
        self.prepare(server, case)?.run(seconds)
    }

    fn prepare(&self, server: &PeerServer, case: LoadCase) -> Result<Prepared<'_>, String> {
        Prepared::new(self.root, self.placement, server.target(), case)
    }
}

/// In each round one series after the other gets a sample. What goes wrong is noted; what goes wrong in the first round
/// is not tried again.
pub(crate) fn rounds(
    mut series: Vec<Series>,
    rounds: u32,
    skipped: &mut Vec<Skipped>,
    mut measure: impl FnMut(&Series, u32) -> Result<Sample, String>,
) -> Vec<Series> {
    for round in 1..=rounds {
        println!("round {round} of {rounds}");
        series.retain_mut(|one| match measure(one, round) {
            Ok(sample) => {
                progress(one, &sample);
                one.samples.push(sample);
                true
            }
            Err(fault) => {
                let what = format!("{} {}", one.peer.title, one.case.title());
                Skipped::note(skipped, what, format!("round {round}: {fault}"));
                !one.samples.is_empty()
            }
        });
        // No server is always the first or the last.
        series.reverse();
    }
    series.sort_by_key(|one| one.case);
    series
}

/// Runs a load, and divides the processor time of the server by its requests.
///
/// # Errors
///
/// When the load fails, or no request was completed.
pub(crate) fn sample(
    server: &PeerServer,
    round: u32,
    load: impl FnOnce() -> Result<LoadResult, String>,
) -> Result<Sample, String> {
    let before = server.cpu();
    let seen = load()?;
    let spent = server.cpu().micros_since(&before);
    if seen.requests == 0 {
        return Err("no request was completed".to_owned());
    }
    Ok(Sample {
        round,
        cpu_micros: spent / seen.requests as f64,
        resident_bytes: server.resident_bytes(),
        seen,
        database: None,
    })
}

/// A line for a sample on the terminal.
fn progress(series: &Series, sample: &Sample) {
    let case = series.case.title();
    let errors = if sample.seen.errors.is_empty() {
        ""
    } else {
        "  ERRORS"
    };
    let (title, cpu, rate) = (series.peer.title, sample.cpu_micros, sample.seen.per_second);
    println!("  {case:<50} {title:<24} {cpu:>7.2} µs CPU  {rate:>8.0} requests/s{errors}");
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A series of one peer with these CPU times, and one error in each round.
    pub(crate) fn series(id: &str, case: LoadCase, cpu_micros: &[f64]) -> Series {
        let seen = LoadResult {
            requests: 1000,
            per_second: 100_000.0,
            p50_micros: 500.0,
            p90_micros: 700.0,
            p99_micros: 900.0,
            errors: vec![("timeout".to_owned(), 1)],
        };
        let sample = |(round, cpu_micros): (u32, &f64)| Sample {
            round,
            seen: seen.clone(),
            cpu_micros: *cpu_micros,
            resident_bytes: 10 << 20,
            database: None,
        };
        let peer = Peer::named(id).expect("a known peer");
        Series {
            peer,
            case,
            samples: (1..).zip(cpu_micros).map(sample).collect(),
            fault: None,
        }
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        let echo = LoadCase::plain(Route::Echo, Headers::Plain, 1);
        let ours = series("bun", echo, &[1.0, 20.0, 3.0]);
        let mut theirs = series("node", echo, &[2.0, 40.0, 30.0]);
        let ratio = |theirs: &Series| ours.ratio_to(theirs, |sample| sample.cpu_micros);
        assert_eq!(ratio(&theirs), Some(0.5));
        // A round that one of the two has not is left out.
        theirs.samples.remove(0);
        assert_eq!(ratio(&theirs), Some(0.3));
        theirs.samples.clear();
        assert_eq!(ratio(&theirs), None);
    }

    #[test]
    fn errors_are_added_up() {
        let echo = LoadCase::plain(Route::Echo, Headers::Plain, 1);
        assert_eq!(series("bun", echo, &[7.0, 8.0]).errors(), "2 timeout");
        assert_eq!(series("bun", echo, &[]).errors(), "");
    }
}
