//! The start and the memory of a project without jobs, beside an older executable.

use std::path::Path;

use super::JobsBench;
use super::rate::median;
use crate::measure::figures::{Figure, Subject};
use crate::measure::{Skipped, before};
use crate::peers::placement::Placement;
use crate::peers::{PEERS, Peer};
use crate::report::stats::mib;

/// The starts of each executable, in turn.
const STARTS: usize = 20;
/// The measurements of memory of each executable, in turn.
const LOADS: usize = 5;
/// The most of each figure, divided by that of the older executable.
const RATIO_MAX: f64 = 1.02;

/// The figures that are compared, and how each is taken.
type Way = (
    &'static str,
    usize,
    &'static str,
    fn(&Subject<'_>) -> Result<f64, String>,
);

const WAYS: [Way; 3] = [
    (
        "start of examples/hello to its first answer",
        STARTS,
        "ms",
        |subject| Ok(subject.one_start()?.as_secs_f64() * 1e3),
    ),
    (
        "memory of examples/hello after its start",
        LOADS,
        "MiB",
        |subject| memory(subject, 0),
    ),
    (
        "memory of examples/hello after a second of load",
        LOADS,
        "MiB",
        |subject| memory(subject, 1),
    ),
];

/// The resident memory with one worker, after so many seconds of load, in MiB.
fn memory(subject: &Subject<'_>, seconds: u32) -> Result<f64, String> {
    let placement = Placement::here(1);
    let server = subject.start(&placement, 1)?;
    if seconds > 0 {
        subject.load(
            &server,
            &placement,
            crate::measure::case::CONNECTIONS,
            seconds,
        )?;
    }
    Ok(mib(server.resident_bytes()))
}

impl JobsBench<'_> {
    /// Compares examples/hello in both languages.
    pub(super) fn older(&mut self, program: &Path) -> Vec<Figure> {
        let installer = self.options.shared.suite.installer();
        let mut figures = Vec::new();
        for peer in &PEERS[..2] {
            for way in WAYS {
                let found = installer.install(peer).and_then(|installed| {
                    let (twin, older) = before::twin(peer, &installed, program);
                    let subject = |peer: &'static Peer, installed| Subject {
                        root: &self.setup.root,
                        logs: &self.setup.logs,
                        peer,
                        installed,
                        rounds: self.options.shared.rounds,
                        seconds: self.options.shared.seconds,
                    };
                    compare(way, &subject(peer, &installed), &subject(twin, &older))
                });
                match found {
                    Ok(figure) => figures.push(figure),
                    Err(fault) => {
                        let what = format!("{}: {}", peer.title, way.0);
                        Skipped::note(&mut self.setup.skipped, what, fault);
                    }
                }
            }
        }
        figures
    }
}

/// Takes a figure of both in turn, and compares the medians.
fn compare(
    (what, times, unit, take): Way,
    now: &Subject<'_>,
    older: &Subject<'_>,
) -> Result<Figure, String> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..times {
        ours.push(take(now)?);
        theirs.push(take(older)?);
    }
    let nothing = || "nothing was measured".to_owned();
    let (ours, theirs) = (
        median(ours).ok_or_else(nothing)?,
        median(theirs).ok_or_else(nothing)?,
    );
    let ratio = ours.median / theirs.median;
    let figure = Figure {
        what: format!("{}: {what}, against before", now.peer.title),
        value: format!(
            "{ratio:.3} ({} against {} {unit})",
            ours.show(1),
            theirs.show(1)
        ),
        wanted: format!("at most {RATIO_MAX}"),
        reached: Some(ratio <= RATIO_MAX),
    };
    println!("{}: {}", figure.what, figure.value);
    Ok(figure)
}
