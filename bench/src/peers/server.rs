//! A peer that is running.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::peers::children::Child;
use crate::peers::placement::Placement;
use crate::peers::processes::{CpuTimes, peak_bytes, resident_bytes};
use crate::peers::storage::BenchStorage;
use crate::peers::target::Target;
use crate::peers::{Installed, Peer};
use sampan_client::ports;

/// The longest time that a server may take to give its first answer. Java takes longest.
const START_MILLIS_MAX: u64 = 60_000;

/// The number of its last lines shown when it does not.
const LAST_LINES: usize = 4;

/// A server that has answered once; ended when dropped.
pub(crate) struct PeerServer {
    child: Child,
    target: Target,
}

impl PeerServer {
    /// Starts a peer, with a database where it needs one, and waits for its first answer. Its output goes to a log file
    /// in `logs`.
    ///
    /// # Errors
    ///
    /// When it ends or does not answer in time, with its last words.
    pub(crate) fn start(
        peer: &Peer,
        installed: &Installed,
        placement: &Placement,
        threads: usize,
        storage: Option<&BenchStorage>,
        logs: &Path,
    ) -> Result<Self, String> {
        let port = ports::free();
        installed
            .configure(port, threads)
            .map_err(|error| error.to_string())?;
        let log = logs.join(format!("{}.log", peer.id));
        let file = File::create(&log).map_err(|error| error.to_string())?;
        let copy = file.try_clone().map_err(|error| error.to_string())?;
        let mut command = peer.command(installed, placement, port, threads, storage);
        command
            .stdin(std::process::Stdio::null())
            .stdout(file)
            .stderr(copy);
        let child = Child::start(&mut command).map_err(|error| error.to_string())?;
        let mut server = Self {
            child,
            target: Target {
                address: (Ipv4Addr::LOCALHOST, port).into(),
                protocol: peer.protocol,
            },
        };
        server
            .await_answer()
            .map_err(|fault| format!("{fault}{}", last_words(&log)))?;
        Ok(server)
    }

    fn await_answer(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + Duration::from_millis(START_MILLIS_MAX);
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.exited() {
                return Err(format!("it ended at its start ({status})"));
            }
            if answers(self.target) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(format!("no answer within {START_MILLIS_MAX} ms"))
    }

    /// Returns the listening address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.target.address
    }

    /// Returns the listening address with its protocol.
    pub(crate) fn target(&self) -> Target {
        self.target
    }

    /// The processor time it has used.
    pub(crate) fn cpu(&self) -> CpuTimes {
        CpuTimes::of(self.child.id())
    }

    /// Returns the resident memory.
    pub(crate) fn resident_bytes(&self) -> u64 {
        resident_bytes(self.child.id())
    }

    /// Returns the largest resident memory that it has had.
    pub(crate) fn peak_bytes(&self) -> u64 {
        peak_bytes(self.child.id())
    }

    /// Returns the growth of the resident memory by each of so many connections, in KiB.
    ///
    /// # Errors
    ///
    /// Those of `open`.
    pub(crate) fn kib_of_each<T>(
        &self,
        count: usize,
        open: impl FnOnce() -> Result<T, String>,
    ) -> Result<f64, String> {
        let before = self.resident_bytes();
        let opened = open()?;
        // What the server does soon after the last answer (giving buffers back) belongs to the figure.
        std::thread::sleep(Duration::from_millis(500));
        let after = self.resident_bytes();
        drop(opened);
        Ok(after.saturating_sub(before) as f64 / 1024.0 / count as f64)
    }

    /// Reports whether it is still there.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.exited(), Ok(None))
    }
}

/// Reports whether a server answers here, with any answer.
pub(crate) fn answers(target: impl Into<Target>) -> bool {
    let client = target.into().client();
    client.is_ok_and(|mut client| client.ask("GET", "/version", &[], "").is_ok())
}

fn last_words(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    if last.is_empty() {
        String::new()
    } else {
        format!(": {}", last.join(" | "))
    }
}
