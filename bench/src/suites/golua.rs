//! `cargo xtask bench golua`: a short text from Lua in a program in Go, and from a handler in Go.

use clap::Args;

use super::side_by_side::{RoundOptions, SideBySide};
use crate::Error;
use crate::measure::ExtraCases;
use crate::measure::setup;
use crate::peers::GOLUA_PEERS;
use crate::report::{self, targets};
use crate::routes::{self, Route};

/// The processors that a program in Go may use.
const THREADS: u32 = 1;

/// The options of `cargo xtask bench golua`.
#[derive(Args)]
pub(crate) struct GoLuaOptions {
    /// Measure only these servers
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = setup::peer_names(GOLUA_PEERS))]
    only: Vec<String>,
    /// Measure only these routes
    #[arg(long, value_name = "ROUTE,...", value_delimiter = ',', value_parser = routes::parser(routes::GOLUA))]
    routes: Vec<Route>,
    #[command(flatten)]
    shared: RoundOptions,
}

/// Runs the benchmark and writes `golua.json`, `golua.md` and `golua.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// When taskset is missing, our executable does not build, or the results cannot be written.
pub(crate) fn golua(options: &GoLuaOptions) -> Result<bool, Error> {
    options.shared.suite.refuse_before()?;
    SideBySide {
        suite: &report::GOLUA,
        peers: GOLUA_PEERS,
        only: &options.only,
        routes: setup::chosen(&options.routes, routes::GOLUA),
        extra: ExtraCases::None,
        threads: THREADS,
        targets: targets::GOLUA,
        options: &options.shared,
    }
    .run()
}
