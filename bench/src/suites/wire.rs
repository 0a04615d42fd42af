//! `cargo xtask bench tls`, `h2` and `ws`: encryption, HTTP/2 and WebSockets.

use super::side_by_side::{FigureOptions, SideBySide, SideOptions};
use crate::error::Error;
use crate::load::{h2load, handshakes};
use crate::measure::{ExtraCases, idle_memory, stuck_sockets};
use crate::peers::{H2_PEERS, Peer, TLS_PEERS, WS_PEERS, certificate};
use crate::report::targets::{self, RatioTarget};
use crate::report::{self, Suite};
use crate::routes::sockets::SUBSCRIBERS;
use crate::routes::{self, Route};

/// The routes of examples/hello over TLS 1.3, and handshakes.
pub(crate) struct Tls;

impl SideBySide for Tls {
    const SUITE: &'static Suite = &report::TLS;
    const PEERS: &'static [Peer] = TLS_PEERS;
    const ROUTES: &'static [Route] = routes::TLS;
    const TARGETS: &'static [RatioTarget] = targets::TLS;
    const EXTRA: ExtraCases = ExtraCases::None;

    fn load(ordinary: String) -> String {
        format!("{ordinary}; handshakes on {} threads", handshakes::THREADS)
    }
}

/// Those routes by HTTP/2.
pub(crate) struct H2;

impl SideBySide for H2 {
    const SUITE: &'static Suite = &report::H2;
    const PEERS: &'static [Peer] = H2_PEERS;
    const ROUTES: &'static [Route] = routes::H2;
    const TARGETS: &'static [RatioTarget] = targets::H2;
    const EXTRA: ExtraCases = ExtraCases::None;

    fn load(ordinary: String) -> String {
        let times = ordinary.rsplit(", ").next().unwrap_or_default().to_owned();
        let (connections, streams) = (h2load::CONNECTIONS, h2load::STREAMS);
        format!("h2load, {connections} connections of {streams} streams, {times}")
    }
}

/// Messages over WebSockets.
pub(crate) struct Ws;

impl SideBySide for Ws {
    const SUITE: &'static Suite = &report::WS;
    const PEERS: &'static [Peer] = WS_PEERS;
    const ROUTES: &'static [Route] = routes::WS;
    const TARGETS: &'static [RatioTarget] = targets::WS;
    const EXTRA: ExtraCases = ExtraCases::None;

    fn load(ordinary: String) -> String {
        let own = ordinary.replacen("sampan bench", "the benchmark's own clients", 1);
        format!("{own}; {SUBSCRIBERS} for what is published")
    }
}

/// Runs the benchmark and writes `tls.json`, `tls.md` and `tls.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// As [`SideOptions::run`], or when no certificate can be made.
pub(crate) fn tls(options: &FigureOptions<Tls>) -> Result<bool, Error> {
    certificate::make(&crate::checkout::root())?;
    options.run(&[("memory of idle connections", idle_memory::of_tls)])
}

/// Runs the benchmark and writes `h2.json`, `h2.md` and `h2.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// As [`tls`], or when h2load cannot be installed.
pub(crate) fn h2(options: &SideOptions<H2>) -> Result<bool, Error> {
    certificate::make(&crate::checkout::root())?;
    options.shared.suite.installer().h2load()?;
    options.run()
}

/// Runs the benchmark and writes `ws.json`, `ws.md` and `ws.svg`. `false` if nothing could be measured.
///
/// # Errors
///
/// As [`SideOptions::run`].
pub(crate) fn ws(options: &FigureOptions<Ws>) -> Result<bool, Error> {
    options.run(&[
        ("memory of idle connections", idle_memory::of_sockets),
        (
            "echoes beside sockets that do not read",
            stuck_sockets::echoing,
        ),
        (
            "messages beside sockets that do not read",
            stuck_sockets::publishing,
        ),
    ])
}
