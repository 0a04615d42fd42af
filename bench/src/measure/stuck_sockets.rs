//! The times of others while thousands of WebSockets do not read what is published.

use super::case::CONNECTIONS;
use super::figures::Figure;
use super::setup::Setup;
use crate::load::room::Room;
use crate::load::sockets::Sockets;
use crate::peers::Peer;
use crate::peers::placement::Placement;
use crate::routes::sockets::{SUBSCRIBERS, SocketLoad};

/// The most that the 99th percentile of others may be, as a multiple of the time beside as many sockets that read.
const RATIO_MAX: f64 = 2.0;
/// The time that is measured.
const SECONDS: u32 = 10;

/// The 99th percentile of echoes beside sockets that are stuck, against that beside as many that read. Four messages of
/// 16 kB are published to them each second.
///
/// # Errors
///
/// When they cannot be opened, or an echo fails.
pub(crate) fn of(setup: &Setup, peer: &'static Peer) -> Result<Figure, String> {
    let reading = echoes(setup, peer, false)?;
    let stuck = echoes(setup, peer, true)?;
    let ratio = stuck / reading;
    let value = format!("{ratio:.2} ({stuck:.0} µs against {reading:.0} µs)");
    let wanted = format!("at most {RATIO_MAX}");
    println!("{}: {value} (wanted: {wanted})", peer.title);
    Ok(Figure {
        what: format!(
            "{}: p99 of echoes while {SUBSCRIBERS} subscribers do not read, against as many that do",
            peer.title
        ),
        value,
        wanted,
        reached: Some(ratio <= RATIO_MAX),
    })
}

/// Returns the 99th percentile in microseconds.
fn echoes(setup: &Setup, peer: &'static Peer, is_stuck: bool) -> Result<f64, String> {
    let placement = Placement::here(1);
    let server = setup.start_one(peer, &placement, 1)?;
    let load = SocketLoad {
        path: "/echo",
        text: "a short text".to_owned(),
        sockets: CONNECTIONS as usize,
    };
    let mut echoes = Sockets::open(&placement, server.address(), &load)?;
    let _room = Room::open(&placement, server.address(), SUBSCRIBERS, is_stuck)?;
    Ok(echoes.run(SECONDS)?.p99_micros)
}
