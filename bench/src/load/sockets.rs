//! WebSockets that another process holds open and puts under load: `cargo xtask bench socket-client`.

use std::net::SocketAddr;
use std::time::Duration;

use super::LoadResult;
use super::client_process::ClientProcess;
use crate::peers::placement::Placement;
use crate::routes::sockets::SocketLoad;

/// A running client process; its sockets are open until it is dropped.
pub(crate) struct Sockets(ClientProcess);

impl Sockets {
    /// Starts the client on the processors of the load, and waits until all sockets are open and have been used.
    ///
    /// # Errors
    ///
    /// When it cannot open them all, with its own words.
    pub(crate) fn open(
        placement: &Placement,
        address: SocketAddr,
        load: &SocketLoad,
    ) -> Result<Self, String> {
        let (address, sockets) = (address.to_string(), load.sockets.to_string());
        let arguments = ["socket-client", &address, load.path, &load.text, &sockets];
        ClientProcess::open(|program| placement.load(program), &arguments).map(Self)
    }

    /// Sends messages for so long.
    ///
    /// # Errors
    ///
    /// When a message is not answered, or wrongly.
    pub(crate) fn run(&mut self, seconds: u32) -> Result<LoadResult, String> {
        self.run_with(seconds, Duration::ZERO)
    }

    /// Sends messages for so long, with this pause behind each that is published.
    ///
    /// # Errors
    ///
    /// As [`Sockets::run`].
    pub(crate) fn run_with(&mut self, seconds: u32, pause: Duration) -> Result<LoadResult, String> {
        let line = self.0.ask(&format!("{seconds} {}", pause.as_millis()))?;
        LoadResult::from_line(&line).ok_or(line)
    }
}
