//! A server that runs.

use super::aside::Aside;
use super::events::{ServerEvent, ServerEvents};
use super::shared::ServerShared;
use crate::locks::lock;
use crate::reload::swap::Reloader;
use crate::upgrade::{HandedSocket, SocketUse};
use crate::worker::watchdog::{Watchdog, WorkerStacks};
use sampan_acme::Renewing;
use sampan_backup::Backup;
use sampan_db::AppDatabase;
use sampan_http::{Accepting, ListeningSocket};
use sampan_trace::Exporter;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// The address of a server that has no port.
const NO_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// The interval at which a server that leaves looks whether its connections have ended.
const DRAIN_PAUSE: Duration = Duration::from_millis(10);

/// A server that runs. Dropping it leaves it running; [`Running::shutdown`] ends it.
pub struct Running {
    /// The ports that it listens on.
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) shared: Arc<ServerShared>,
    /// The acceptors, each with the purpose of its socket.
    pub(super) accepting: Vec<(SocketUse, Accepting)>,
    /// The answers to plain HTTP of a server that speaks HTTPS.
    pub(super) redirect: Option<Aside>,
    /// The address of the measurements, and its listener.
    pub(super) metrics: Option<(SocketAddr, Aside)>,
    /// The certificates that renew themselves.
    pub(super) renewing: Option<Renewing>,
    /// The copy of the database that is made.
    pub(super) backup: Option<Backup>,
    /// Sends the spans of traces.
    pub(super) exporter: Option<Exporter>,
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

    /// Returns the address of the measurements, if they have one of their own.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|(address, _)| *address)
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

    /// Answers for a while longer, if `[health] stop_delay_millis` says so: load balancers see that it is not ready.
    /// Ends early at the next event.
    pub(crate) fn delay_stop(&self) {
        let delay = self.shared.config.serving.health.stop_delay;
        if !delay.is_zero() {
            let _ = lock(&self.events).recv_timeout(delay);
        }
    }

    /// Returns the database of the project.
    pub(super) fn database(&self) -> AppDatabase {
        self.shared.database.clone()
    }

    /// Returns the listening sockets, for the process that takes the place of this one.
    pub(crate) fn sockets(&self) -> ListeningSockets {
        let listening = self
            .accepting
            .iter()
            .map(|(usage, one)| (*usage, one.socket()));
        let redirect = self.redirect.iter().flat_map(Aside::sockets);
        let redirect = redirect.map(|socket| (SocketUse::Redirect, socket));
        let metrics = self.metrics.iter().flat_map(|(_, aside)| aside.sockets());
        let metrics = metrics.map(|socket| (SocketUse::Metrics, socket));
        ListeningSockets(listening.chain(redirect).chain(metrics).collect())
    }

    /// Leaves the sockets to another process that accepts on them. Connections end behind their next answer, or after
    /// `drain_millis`; then the server ends as by [`Running::shutdown`].
    pub(crate) fn leave(mut self) -> bool {
        for (_, accepting) in std::mem::take(&mut self.accepting) {
            accepting.leave();
        }
        let metrics = self.metrics.iter_mut().map(|(_, aside)| aside);
        self.redirect
            .iter_mut()
            .chain(metrics)
            .for_each(Aside::leave);
        // The other process renews certificates from now on.
        if let Some(renewing) = self.renewing.take() {
            renewing.stop();
        }
        let deadline = Instant::now() + Duration::from_millis(self.shared.limits.drain_millis);
        for member in &*self.shared.crew() {
            member.handle.leave();
        }
        let is_stopped = || self.shared.is_stopping.load(Ordering::Acquire);
        while self.connections() > 0 && Instant::now() < deadline && !is_stopped() {
            std::thread::sleep(DRAIN_PAUSE);
        }
        self.shutdown()
    }

    /// Returns the number of open connections, the parked ones included.
    pub fn connections(&self) -> usize {
        self.shared.connections().0
    }

    /// Returns the number of connections that are parked: idle, and kept by no worker.
    pub fn parked(&self) -> usize {
        self.shared.connections().1
    }

    /// Stops accepting, lets what is in flight end within `shutdown_millis_max`, and ends all threads. False if some
    /// had to be left behind.
    pub fn shutdown(self) -> bool {
        self.shared.is_stopping.store(true, Ordering::Release);
        self.shared.is_ending.store(true, Ordering::SeqCst);
        if let Some(files) = &self.shared.config.program.script_files {
            files.close();
        }
        let _ = self.shared.ending.set(Instant::now());
        for (_, accepting) in self.accepting {
            accepting.stop();
        }
        if let Some(renewing) = self.renewing {
            renewing.stop();
        }
        if let Some(certificates) = &self.shared.certificates {
            certificates.end();
        }
        let metrics = self.metrics.map(|(_, aside)| aside);
        let mut asides: Vec<Aside> = self.redirect.into_iter().chain(metrics).collect();
        asides.iter_mut().for_each(Aside::begin_stop);
        self.shared.drain_beside();
        let all_ended = self.shared.end_workers();
        asides.into_iter().for_each(Aside::join);
        let all_ended = self.shared.end_slow_lane() && all_ended;
        let all_ended = self.shared.end_beside() && all_ended;
        self.shared.watchdog.stop();
        self.shared.database.shutdown();
        if let Some(backup) = self.backup {
            backup.finish();
        }
        if let Some(exporter) = self.exporter {
            exporter.finish();
        }
        all_ended
    }
}

/// The listening sockets of a server. It does not keep them open.
#[derive(Clone)]
pub(crate) struct ListeningSockets(Vec<(SocketUse, ListeningSocket)>);

impl ListeningSockets {
    /// Returns another descriptor of each.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub(crate) fn duplicate(&self) -> io::Result<Vec<HandedSocket>> {
        let duplicates = self.0.iter().filter_map(|(usage, socket)| {
            let socket = socket.duplicate().transpose()?;
            Some(socket.map(|socket| HandedSocket {
                usage: *usage,
                socket,
            }))
        });
        duplicates.collect()
    }

    /// Waits until nothing accepts on them here any more, for a time.
    pub(crate) fn wait_until_left(&self, time_max: Duration) {
        let deadline = Instant::now() + time_max;
        while Instant::now() < deadline && !self.0.iter().all(|(_, socket)| socket.is_left()) {
            std::thread::sleep(DRAIN_PAUSE);
        }
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
