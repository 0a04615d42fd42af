//! `cargo xtask bench backup`: the cost of a copy that is seconds old, its lag, and the time of a restore.
//!
//! The writes of examples/bench_db are measured with the copy and without ([`cost`]), both ours. [`lag`] asks the server
//! for the age of what is not copied, under a thousand writes per second. [`restore`] makes a database of its size and
//! restores it.

mod cost;
mod lag;
mod restore;

use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use sampan_client::Client;

use super::side_by_side::RoundOptions;
use crate::error::Error;
use crate::measure::Skipped;
use crate::measure::case::CONNECTIONS;
use crate::measure::figures::Figure;
use crate::measure::setup::{self, Setup};
use crate::peers::placement::Placement;
use crate::peers::server::PeerServer;
use crate::peers::storage::{BenchStorage, Durability};
use crate::peers::{BACKUP_PEERS, LUA_COPIED, Peer};
use crate::report;
use crate::report::targets;
use crate::routes::{self, Route};

/// The longest time until everything is copied.
const PATIENCE: Duration = Duration::from_secs(300);
/// The pause between two questions.
const PAUSE: Duration = Duration::from_millis(50);

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The CPU time of writes with the copy, against without
    Cost,
    /// The lag of the copy under 1,000 writes per second
    Lag,
    /// The time of a restore, against reading the same bytes
    Restore,
}

/// The options of `cargo xtask bench backup`.
#[derive(Args)]
pub(crate) struct BackupOptions {
    /// Measure the cost of these only
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = setup::peer_names(BACKUP_PEERS))]
    only: Vec<String>,
    /// Measure the cost of these routes only
    #[arg(long, value_name = "ROUTE,...", value_delimiter = ',', value_parser = routes::parser(routes::BACKUP))]
    routes: Vec<Route>,
    /// Measure the cost with this durability only
    #[arg(long, value_name = "normal,full", value_delimiter = ',', value_enum)]
    durability: Vec<Durability>,
    /// Measure only these parts
    #[arg(long, value_name = "PART,...", value_delimiter = ',', value_enum)]
    parts: Vec<Part>,
    /// The size of the database that is restored, in MB
    #[arg(long, value_name = "MB", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    size: u32,
    /// The commits behind its whole copy
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    commits: u32,
    #[command(flatten)]
    shared: RoundOptions,
}

/// The options and the servers of a run.
struct BackupBench<'a> {
    options: &'a BackupOptions,
    setup: &'a Setup,
}

/// A figure that has no peer: its part, its name, and how it is taken.
type OwnFigure<'a> = (
    Part,
    &'static str,
    fn(&BackupBench<'a>) -> Result<Figure, String>,
);

/// Runs the benchmark and writes `backup.json`, `backup.md` and `backup.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// When taskset is missing, our executable does not build, or the results cannot be written.
pub(crate) fn backup(options: &BackupOptions) -> Result<bool, Error> {
    let suite = &options.shared.suite;
    suite.refuse_before()?;
    let mut only = options.only.clone();
    if !only.is_empty() {
        // The other parts are measured with it.
        only.push(LUA_COPIED.to_owned());
    }
    let mut setup = suite.prepare(BACKUP_PEERS, &only)?;
    let has = |part: Part| options.parts.is_empty() || options.parts.contains(&part);
    let bench = BackupBench {
        options,
        setup: &setup,
    };
    let (mut series, mut ratios, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    if has(Part::Cost) {
        series = bench.costs(&mut skipped);
        ratios = targets::judge(&targets::backup(&bench.durabilities()), &series, 1);
    }
    let figures: [OwnFigure<'_>; 2] = [
        (Part::Lag, "lag of the copy", BackupBench::lag),
        (Part::Restore, "restore", BackupBench::restore),
    ];
    for (part, name, way) in figures {
        if !has(part) {
            continue;
        }
        println!("{name}");
        match way(&bench) {
            Ok(figure) => {
                figure.tell();
                ratios.push(figure);
            }
            Err(fault) => Skipped::note(&mut skipped, name.to_owned(), fault),
        }
    }
    setup.skipped.append(&mut skipped);
    let (seconds, rounds) = (options.shared.seconds, options.shared.rounds);
    let placed = format!("1; {}", Placement::here(1).describe());
    let load = format!(
        "sampan bench, {CONNECTIONS} connections, {seconds} s × {rounds} rounds; copies of `file://`, every = \"1 s\", on \
         the same disk"
    );
    let conditions = [("workers", placed), ("load", load)];
    report::finish(
        &report::BACKUP,
        setup,
        conditions,
        series,
        ratios,
        Vec::new(),
    )
}

/// A server that copies its database, and the database.
struct CopiedServer {
    server: PeerServer,
    storage: BenchStorage,
}

impl BackupBench<'_> {
    /// Makes a folder for a database whose copy lies beside it.
    fn storage(&self, durability: Durability) -> Result<BenchStorage, String> {
        let storage = self.setup.storage(durability, "")?;
        let settings = format!(
            "[backup]\nurl = \"{}\"\nevery = \"1 s\"\n[metrics]\nenabled = true\n",
            url(&storage)
        );
        storage
            .configure(&settings)
            .map_err(|error| error.to_string())?;
        Ok(storage)
    }

    /// Starts a server with a copy, and waits until the whole database is copied.
    fn start_copied(
        &self,
        peer: &'static Peer,
        placement: &Placement,
        storage: BenchStorage,
    ) -> Result<CopiedServer, String> {
        let server = self.setup.start_with(peer, placement, 1, Some(&storage))?;
        let copied = CopiedServer { server, storage };
        copied.wait(|copied| {
            Ok(copied.metric("sampan_backup_last_upload_timestamp_seconds")? > 0.0)
        })?;
        Ok(copied)
    }
}

impl CopiedServer {
    /// Returns a measurement of the server itself.
    fn metric(&self, name: &str) -> Result<f64, String> {
        let fault = |why: String| format!("{name}: {why}");
        let mut client =
            Client::connect(self.server.address()).map_err(|error| fault(error.to_string()))?;
        let answer = client
            .ask("GET", "/_sampan/metrics", &[], "")
            .map_err(|error| fault(error.to_string()))?;
        metric(&answer.text(), name).ok_or_else(|| fault("it is not told".to_owned()))
    }

    /// Waits until something holds.
    fn wait(&self, holds: impl Fn(&Self) -> Result<bool, String>) -> Result<(), String> {
        let begun = Instant::now();
        while !holds(self)? {
            if begun.elapsed() > PATIENCE {
                return Err("the copy is not made".to_owned());
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Waits until all is copied, and ends the server.
    fn end(self) -> Result<BenchStorage, String> {
        self.wait(|copied| Ok(copied.metric(lag::LAG)? == 0.0))?;
        drop(self.server);
        Ok(self.storage)
    }
}

/// The place of the copy of a database.
fn url(storage: &BenchStorage) -> String {
    format!("file://{}", storage.copies().display())
}

/// Finds the value of a line.
fn metric(text: &str, name: &str) -> Option<f64> {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_is_found_by_its_name() {
        let text = "# HELP a_lag The lag.\na_lag_seconds 1\na_lag 0.25\n";
        assert_eq!(metric(text, "a_lag"), Some(0.25));
        assert_eq!(metric(text, "lag"), None);
    }
}
