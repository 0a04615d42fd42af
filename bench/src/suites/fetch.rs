//! `cargo xtask bench fetch`: the routes of examples/bench_fetch, which ask another server.

use super::side_by_side::{FigureOptions, SideBySide};
use crate::error::Error;
use crate::load::passed;
use crate::measure::setup::Setup;
use crate::measure::{ExtraCases, passed_bodies};
use crate::peers::placement::Placement;
use crate::peers::server::PeerServer;
use crate::peers::{FETCH_PEERS, ORIGIN, Peer};
use crate::report::targets::{self, RatioTarget};
use crate::report::{self, Suite};
use crate::routes::{self, Route};

/// JSON of another server, passed on.
pub(crate) struct Fetch;

impl SideBySide for Fetch {
    const SUITE: &'static Suite = &report::FETCH;
    const PEERS: &'static [Peer] = FETCH_PEERS;
    const ROUTES: &'static [Route] = routes::FETCH;
    const TARGETS: &'static [RatioTarget] = targets::FETCH;
    const EXTRA: ExtraCases = ExtraCases::None;

    fn load(ordinary: String) -> String {
        format!("{ordinary}; the other server on the same processors")
    }
}

/// Runs the benchmark and writes `fetch.json`, `fetch.md` and `fetch.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// As [`FigureOptions::run`], or when the other server cannot be installed or started.
pub(crate) fn fetch(options: &FigureOptions<Fetch>) -> Result<bool, Error> {
    let installer = options.side.shared.suite.installer();
    let start = |setup: &mut Setup, placement: &Placement| -> Result<PeerServer, Error> {
        let installed = installer.install(&ORIGIN)?;
        let placement = placement.of_load();
        let origin = PeerServer::start(&ORIGIN, &installed, &placement, 1, None, &setup.logs)
            .map_err(|fault| format!("{}: {fault}", ORIGIN.title))?;
        let address = origin.address().to_string();
        let streams = format!("http://{}", passed::start()?);
        for (_, installed) in &mut setup.installed {
            let url = format!("http://{address}");
            let variables = [
                ("ORIGIN", url),
                ("ORIGIN_ADDRESS", address.clone()),
                ("STREAMS", streams.clone()),
            ];
            installed.variables.extend(variables);
        }
        Ok(origin)
    };
    options.run_beside(
        start,
        &[("memory of 1 GB passed on", passed_bodies::memory)],
    )
}
