//! The memory that a server needs to pass a large body on.

use std::io;
use std::net::SocketAddr;

use super::figures::Figure;
use super::setup::Setup;
use crate::load::passed::{download, upload};
use crate::peers::Peer;
use crate::peers::placement::Placement;
use crate::report::stats::mib;

/// The size of a body.
const BYTES: u64 = 1_000_000_000;
/// The most resident memory of the server, in MiB.
const MIB_MAX: f64 = 40.0;

/// A way of a body, and the client on its end.
type Way = (&'static str, fn(SocketAddr, u64) -> io::Result<()>);

/// The largest resident memory while 1 GB from another server passes to a client, and from a client to another server.
///
/// # Errors
///
/// When another number of bytes arrives.
pub(crate) fn memory(setup: &Setup, peer: &'static Peer) -> Result<Vec<Figure>, String> {
    let ways: [Way; 2] = [("from", download), ("to", upload)];
    ways.into_iter().map(|way| of(setup, peer, way)).collect()
}

fn of(setup: &Setup, peer: &'static Peer, (word, pass): Way) -> Result<Figure, String> {
    let server = setup.start_one(peer, &Placement::here(1), 1)?;
    let idle = mib(server.resident_bytes());
    pass(server.address(), BYTES).map_err(|error| error.to_string())?;
    let peak = mib(server.peak_bytes());
    Ok(Figure {
        what: format!(
            "{}: largest resident memory while 1 GB {word} another server is passed on",
            peer.title
        ),
        value: format!("{peak:.1} MiB, {idle:.1} MiB before"),
        wanted: format!("at most {MIB_MAX} MiB"),
        reached: Some(peak <= MIB_MAX),
    })
}
