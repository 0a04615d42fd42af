//! `cargo xtask bench static`: files of three sizes, served from a folder. Ours is that of examples/bench_static.

use std::path::Path;

use clap::Args;

use super::side_by_side::{RoundOptions, SideBySide};
use crate::Error;
use crate::measure::ExtraCases;
use crate::measure::setup;
use crate::peers::STATIC_PEERS;
use crate::peers::storage::files;
use crate::report::{self, targets};
use crate::routes::{self, Route};

/// The peers serve on one thread.
const THREADS: u32 = 1;

/// The options of `cargo xtask bench static`.
#[derive(Args)]
pub(crate) struct StaticOptions {
    /// Measure only these servers
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = setup::peer_names(STATIC_PEERS))]
    only: Vec<String>,
    /// Measure only these routes
    #[arg(long, value_name = "ROUTE,...", value_delimiter = ',', value_parser = routes::parser(routes::STATIC))]
    routes: Vec<Route>,
    #[command(flatten)]
    shared: RoundOptions,
}

/// Runs the benchmark and writes `static.json`, `static.md` and `static.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// When taskset is missing, our executable does not build, or the results cannot be written.
pub(crate) fn static_files(options: &StaticOptions) -> Result<bool, Error> {
    write_files(&files(&crate::root()))?;
    SideBySide {
        suite: &report::STATIC,
        peers: STATIC_PEERS,
        only: &options.only,
        routes: setup::chosen(&options.routes, routes::STATIC),
        extra: ExtraCases::Browser,
        threads: THREADS,
        targets: targets::STATIC,
        options: &options.shared,
    }
    .run()
}

/// Makes the files that are not there.
fn write_files(folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder)?;
    for (name, bytes) in routes::FILES {
        let path = folder.join(name);
        let text = routes::digits(*bytes);
        let is_there = std::fs::read(&path).is_ok_and(|found| found == text.as_bytes());
        if !is_there {
            std::fs::write(&path, text)?;
        }
    }
    Ok(())
}
