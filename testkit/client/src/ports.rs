//! Ports for servers that cannot be told to choose one themselves.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// The first port that is given.
///
/// From here to [`PORTS_END`] no kernel gives a port by itself, so neither a listener on port 0 nor an outgoing
/// connection of another test takes one before its server listens (Linux's `ip_local_port_range` begins at 32,768).
const PORTS_START: u16 = 10_000;
/// The end of the ports that are given.
const PORTS_END: u16 = 32_768;

/// The ports that this process has tried.
static TRIED: AtomicU16 = AtomicU16::new(0);

/// Returns a port of 127.0.0.1 without a listener. Each call of a process gives another one.
///
/// # Panics
/// None is free.
#[must_use]
pub fn free() -> u16 {
    let count = PORTS_END - PORTS_START;
    // Processes that run at the same time begin far from each other.
    let first = std::process::id().wrapping_mul(97) % u32::from(count);
    for _ in 0..count {
        let tried = u32::from(TRIED.fetch_add(1, Ordering::Relaxed));
        let offset = u16::try_from((first + tried) % u32::from(count)).unwrap_or(0);
        let port = PORTS_START + offset;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
    panic!("no port from {PORTS_START} to {PORTS_END} is free");
}
