//! `cargo xtask bench template`: pages rendered from templates, with the routes of examples/bench_template.

use clap::Args;

use super::side_by_side::{RoundOptions, SideBySide};
use crate::Error;
use crate::measure::ExtraCases;
use crate::measure::setup;
use crate::peers::TEMPLATE_PEERS;
use crate::report::{self, targets};
use crate::routes::{self, Route};

/// The peers render on one thread.
const THREADS: u32 = 1;

/// The options of `cargo xtask bench template`.
#[derive(Args)]
pub(crate) struct TemplateOptions {
    /// Measure only these servers
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = setup::peer_names(TEMPLATE_PEERS))]
    only: Vec<String>,
    /// Measure only these routes
    #[arg(long, value_name = "ROUTE,...", value_delimiter = ',', value_parser = routes::parser(routes::TEMPLATE))]
    routes: Vec<Route>,
    #[command(flatten)]
    shared: RoundOptions,
}

/// Runs the benchmark and writes `template.json`, `template.md` and `template.svg`. `false` if nothing could be
/// measured.
///
/// # Errors
///
/// When taskset is missing, our executable does not build, or the results cannot be written.
pub(crate) fn template(options: &TemplateOptions) -> Result<bool, Error> {
    SideBySide {
        suite: &report::TEMPLATE,
        peers: TEMPLATE_PEERS,
        only: &options.only,
        routes: setup::chosen(&options.routes, routes::TEMPLATE),
        extra: ExtraCases::Browser,
        threads: THREADS,
        targets: targets::TEMPLATE,
        options: &options.shared,
    }
    .run()
}
