//! A server that runs.

use super::events::{ServerEvent, ServerEvents};
use super::redirect::Redirect;
use super::shared::ServerShared;
use crate::locks::lock;
use crate::reload::swap::Reloader;
use crate::worker::watchdog::{Watchdog, WorkerStacks};
use sampan_http::Accepting;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// The address of a server that has no port.
const NO_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// A server that runs. Dropping it leaves it running; [`Running::shutdown`] ends it.
pub struct Running {
    /// The ports that it listens on.
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) shared: Arc<ServerShared>,
    pub(super) accepting: Vec<Accepting>,
    /// The answers to plain HTTP of a server that speaks HTTPS.
    pub(super) redirect: Option<Redirect>,
    /// The listening addresses, for people.
    pub(super) names: String,
    pub(super) events: ServerEvents,
}

impl Running {
    /// The first port that it listens on; `0.0.0.0:0` where there are only Unix sockets.
    pub fn address(&self) -> SocketAddr {
        self.addresses.first().copied().unwrap_or(NO_PORT)
    }

    /// All ports that it listens on.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns the listening addresses, for people.
    pub(crate) fn names(&self) -> &str {
        &self.names
    }

    /// Something that knows whether it works, for any thread.
    pub(crate) fn health(&self) -> Health {
        Health(Arc::clone(&self.shared))
    }

    /// Returns the number of requests that each worker has answered.
    pub fn requests(&self) -> Vec<u64> {
        self.shared
            .crew()
            .iter()
            .map(|member| member.handle.requests())
            .collect()
    }

    /// Returns the samples of what the scripts do. There are none unless the server was started with
    /// [`ProgramParts::is_profiled`](crate::ProgramParts::is_profiled).
    pub fn samples(&self) -> Samples {
        Samples(self.shared.watchdog.clone())
    }

    /// Something to load the project anew with, from any thread.
    pub fn reloader(&self) -> Reloader {
        Reloader(Arc::clone(&self.shared))
    }

    /// Something to send events with, from any thread.
    pub fn events(&self) -> Sender<ServerEvent> {
        self.shared.events.clone()
    }

    /// Waits for what ends the server.
    pub fn wait(&self) -> ServerEvent {
        let event = lock(&self.events).recv();
        event.unwrap_or(ServerEvent::Shutdown)
    }

    /// Stops accepting, lets what is in flight end within `shutdown_millis_max`, and ends all threads. False if some
    /// had to be left behind.
    pub fn shutdown(self) -> bool {
        self.shared.is_ending.store(true, Ordering::SeqCst);
        if let Some(files) = &self.shared.config.program.script_files {
            files.close();
        }
        let _ = self.shared.ending.set(Instant::now());
        self.accepting.into_iter().for_each(Accepting::stop);
        if let Some(certificates) = &self.shared.certificates {
            certificates.end();
        }
        if let Some(redirect) = self.redirect {
            redirect.stop();
        }
        let all_ended = self.shared.end_workers();
        self.shared.watchdog.stop();
        self.shared.database.shutdown();
        all_ended
    }
}

/// Knows whether a server works.
pub(crate) struct Health(Arc<ServerShared>);

impl Health {
    /// Reports whether one of the workers has done something within this time, or waits for something to do.
    pub(crate) fn is_alive(&self, time: Duration) -> bool {
        let millis = time.as_millis() as u64;
        let crew = self.0.crew();
        crew.iter()
            .any(|member| member.handle.last_tick_millis() < millis)
    }
}

/// The samples of what the scripts of a server do. Clones share them.
#[derive(Clone)]
pub struct Samples(Watchdog);

impl Samples {
    /// Takes a sample of each worker whose script runs.
    pub fn take(&self) {
        self.0.sample();
    }

    /// Returns the samples of each worker.
    pub fn stacks(&self) -> Vec<WorkerStacks> {
        self.0.stacks()
    }
}
