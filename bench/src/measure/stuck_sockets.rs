//! The times of others while thousands of WebSockets do not read what is published, and the memory that it takes.

use std::time::Duration;

use super::case::CONNECTIONS;
use super::figures::Figure;
use super::setup::Setup;
use crate::load::room::Room;
use crate::load::sockets::Sockets;
use crate::peers::Peer;
use crate::peers::placement::Placement;
use crate::routes::digits;
use crate::routes::sockets::{SUBSCRIBERS, SocketLoad};

/// The most that the 99th percentile of others may be, as a multiple of the time without sockets that are stuck.
const RATIO_MAX: f64 = 2.0;
/// The time that is measured.
const SECONDS: u32 = 10;
/// The sockets that read what is published beside those that are stuck.
const READERS: usize = 100;
/// The messages that are published to both: together fewer bytes than close a socket that does not read.
const MESSAGE_BYTES: usize = 1_000;
const PAUSE: Duration = Duration::from_millis(20);
/// The most memory of each socket that is stuck, in KiB. What waits for it is more, and shared by all.
const STUCK_KIB_MAX: f64 = 32.0;

/// The 99th percentile of echoes beside sockets that are stuck, against that beside as many that read. Four messages of
/// 16 kB are published to them each second.
///
/// # Errors
///
/// When they cannot be opened, or an echo fails.
pub(crate) fn echoing(setup: &Setup, peer: &'static Peer) -> Result<Vec<Figure>, String> {
    let what = format!(
        "p99 of echoes while {SUBSCRIBERS} subscribers do not read, against as many that do"
    );
    let reading = echoes(setup, peer, &[])?;
    let stuck = echoes(setup, peer, &["--stuck"])?;
    Ok(vec![ratio(peer, &what, stuck, reading)])
}

/// The 99th percentile of the time until sockets that read have what one of them publishes, beside sockets that are
/// stuck and without them; and the memory of those.
///
/// # Errors
///
/// When they cannot be opened, or one that reads does not get a message.
pub(crate) fn publishing(setup: &Setup, peer: &'static Peer) -> Result<Vec<Figure>, String> {
    let placement = Placement::here(1);
    let server = setup.start_one(peer, &placement, 1)?;
    let load = SocketLoad {
        path: "/publish",
        text: digits(MESSAGE_BYTES),
        sockets: READERS,
    };
    let published = || {
        let mut readers = Sockets::open(&placement, server.address(), &load)?;
        Ok::<_, String>(readers.run_with(SECONDS, PAUSE)?.p99_micros)
    };
    let without = published()?;
    let before = server.resident_bytes();
    let options = ["--stuck", "--quiet"];
    let _room = Room::open(&placement, server.address(), SUBSCRIBERS, &options)?;
    let with = published()?;
    let growth = server.resident_bytes().saturating_sub(before);
    let each = growth as f64 / 1024.0 / SUBSCRIBERS as f64;
    let what = format!(
        "p99 of a message to {READERS} sockets while {SUBSCRIBERS} more do not read it, against without"
    );
    let memory = Figure {
        what: format!(
            "{}: resident memory of each of {SUBSCRIBERS} WebSockets that do not read",
            peer.title
        ),
        value: format!("{each:.2} KiB"),
        wanted: format!("at most {STUCK_KIB_MAX} KiB"),
        reached: Some(each <= STUCK_KIB_MAX),
    };
    Ok(vec![ratio(peer, &what, with, without), memory])
}

/// The figure of two times in microseconds.
fn ratio(peer: &Peer, what: &str, with: f64, without: f64) -> Figure {
    let ratio = with / without;
    Figure {
        what: format!("{}: {what}", peer.title),
        value: format!("{ratio:.2} ({with:.0} µs against {without:.0} µs)"),
        wanted: format!("at most {RATIO_MAX}"),
        reached: Some(ratio <= RATIO_MAX),
    }
}

/// Returns the 99th percentile in microseconds, beside a room with these options.
fn echoes(setup: &Setup, peer: &'static Peer, options: &[&str]) -> Result<f64, String> {
    let placement = Placement::here(1);
    let server = setup.start_one(peer, &placement, 1)?;
    let load = SocketLoad {
        path: "/echo",
        text: "a short text".to_owned(),
        sockets: CONNECTIONS as usize,
    };
    let mut echoes = Sockets::open(&placement, server.address(), &load)?;
    let _room = Room::open(&placement, server.address(), SUBSCRIBERS, options)?;
    Ok(echoes.run(SECONDS)?.p99_micros)
}
