//! The memory that a server needs for each connection on which nothing happens.

use super::figures::Figure;
use super::setup::Setup;
use crate::load::idle::IdleConnections;
use crate::load::sockets::Sockets;
use crate::peers::Peer;
use crate::peers::placement::Placement;
use crate::peers::server::PeerServer;
use crate::routes::sockets::{SUBSCRIBERS, SocketLoad};

/// The number of connections over TLS.
const CONNECTIONS: usize = 4_000;
/// The most of each of them, in KiB.
const TLS_KIB_MAX: f64 = 16.0;
/// The most of each WebSocket, in KiB.
const SOCKET_KIB_MAX: f64 = 3.0;

/// Connections over TLS, each of which has been answered once.
///
/// # Errors
///
/// When they cannot be opened.
pub(crate) fn of_tls(setup: &Setup, peer: &'static Peer) -> Result<Vec<Figure>, String> {
    let what = format!("{CONNECTIONS} idle TLS connections");
    of(setup, peer, &what, CONNECTIONS, TLS_KIB_MAX, |server, _| {
        IdleConnections::open(server.target(), CONNECTIONS)
    })
}

/// WebSockets, each of which has echoed one message.
///
/// # Errors
///
/// When they cannot be opened.
pub(crate) fn of_sockets(setup: &Setup, peer: &'static Peer) -> Result<Vec<Figure>, String> {
    let what = format!("{SUBSCRIBERS} idle WebSockets");
    let load = SocketLoad {
        path: "/echo",
        text: "a short text".to_owned(),
        sockets: SUBSCRIBERS,
    };
    let open = |server: &PeerServer, placement: &Placement| {
        Sockets::open(placement, server.address(), &load)
    };
    of(setup, peer, &what, SUBSCRIBERS, SOCKET_KIB_MAX, open)
}

/// The growth of the resident memory by what `open` opens.
fn of<T>(
    setup: &Setup,
    peer: &'static Peer,
    what: &str,
    count: usize,
    kib_max: f64,
    open: impl FnOnce(&PeerServer, &Placement) -> Result<T, String>,
) -> Result<Vec<Figure>, String> {
    let placement = Placement::here(1);
    let server = setup.start_one(peer, &placement, 1)?;
    let each = server.kib_of_each(count, || open(&server, &placement))?;
    Ok(vec![Figure {
        what: format!("{}: resident memory of each of {what}", peer.title),
        value: format!("{each:.2} KiB"),
        wanted: format!("at most {kib_max} KiB"),
        reached: Some(each <= kib_max),
    }])
}
