//! The whole server: workers, acceptor, watchdog, and how they start and end.

use crate::config::Config;
use crate::database;
use crate::port_owner;
use crate::process_parts::ProcessParts;
use crate::reload::{Generation, Order, Reloader};
use crate::static_files::OPEN_FILES_MAX;
use crate::watchdog::{ABANDONED_MAX, Watchdog};
use crate::worker::{self, Starting, WorkerPlan};
use sampan_db::Database;
use sampan_files::SPOOLED_FILES_MAX;
use sampan_host::Error;
use sampan_http::{Accepting, Acceptor, Limits, WorkerHandle, Workers};
use sampan_log::Level;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// How long a shutdown waits for the workers' threads beyond the time that their requests get, in milliseconds.
const JOIN_MILLIS_MAX: u64 = 500;

/// Files that the process may need besides its connections: the project's sources, and what capabilities open.
const RESERVED_FILES: u64 = 64;

/// How long an abandoned worker may keep the write connection.
const LEASE_PATIENCE: Duration = Duration::from_secs(5);

/// What ends a running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// Someone asked for it.
    Shutdown,
    /// Too many workers had to be abandoned: the process should end, for its supervisor to start a fresh one.
    GiveUp,
}

/// Where what ends a server arrives. One server after the other may wait for it.
pub(crate) type ServerEvents = Arc<Mutex<Receiver<ServerEvent>>>;

/// Tells a server to end, from any thread, also while it starts.
#[derive(Clone, Debug)]
pub(crate) struct Stopper {
    /// When that was, for the requests that are cut.
    ending: Arc<OnceLock<Instant>>,
    events: Sender<ServerEvent>,
}

impl Stopper {
    pub(crate) fn new() -> (Self, ServerEvents) {
        let (events, inbox) = channel();
        let ending = Arc::default();
        (Self { ending, events }, Arc::new(Mutex::new(inbox)))
    }

    pub(crate) fn stop(&self) {
        let _ = self.ending.set(Instant::now());
        let _ = self.events.send(ServerEvent::Shutdown);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.ending.get().is_some()
    }
}

/// Starts servers.
#[derive(Debug)]
pub struct Server;

/// A server that runs. Dropping it leaves it running; [`Running::shutdown`] ends it.
pub struct Running {
    address: SocketAddr,
    shared: Arc<ServerShared>,
    accepting: Accepting,
    events: ServerEvents,
}

/// What the parts of a server have in common.
pub(crate) struct ServerShared {
    /// As it was at start: what a reload does not change.
    pub(crate) config: Arc<Config>,
    limits: Arc<Limits>,
    pub(crate) database: Arc<Database>,
    /// What the workers serve; a worker that takes another's place loads it.
    generation: Mutex<Arc<Generation>>,
    /// Held by a reload, and while a worker is replaced: so all workers serve the same generation.
    reloading: Mutex<()>,
    watchdog: Watchdog,
    /// The workers that serve, and their threads.
    crew: Mutex<Vec<CrewMember>>,
    workers: Mutex<Option<Workers>>,
    events: Sender<ServerEvent>,
    next_id: AtomicU64,
    abandoned: AtomicUsize,
    /// Set when the end begins, so that no worker starts behind its back.
    pub(crate) is_ending: AtomicBool,
    /// When that was, for the requests that are cut.
    ending: Arc<OnceLock<Instant>>,
    /// Whether the functions that start once for the process have run.
    started_once: Arc<AtomicBool>,
}

/// A worker that serves.
pub(crate) struct CrewMember {
    pub(crate) id: u64,
    handle: WorkerHandle,
    pub(crate) orders: UnboundedSender<Order>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Loads the project on every worker, then accepts connections.
    ///
    /// # Errors
    /// The project does not load, or the address cannot be listened on: one line that says what to do.
    pub fn start(config: Config) -> Result<Running, String> {
        let (stopper, events) = Stopper::new();
        Self::start_until(config, &stopper, events)
    }

    /// The same with something that stops it, also while it starts: that is an error then.
    pub(crate) fn start_until(
        config: Config,
        stopper: &Stopper,
        inbox: ServerEvents,
    ) -> Result<Running, String> {
        let mut limits = config.http.clone();
        // Each worker keeps the files of two folders open.
        let files = SPOOLED_FILES_MAX + config.workers * 2 * OPEN_FILES_MAX;
        let files = RESERVED_FILES + files as u64;
        if let Some(note) = sampan_http::raise_open_files(&mut limits, files) {
            config.logger.text(Level::Warn, note);
        }
        let acceptor = Acceptor::bind(config.listen, &limits)
            .map_err(|error| bind_fault(config.listen, &error))?;
        let address = acceptor
            .local_addr()
            .map_err(|error| bind_fault(config.listen, &error))?;
        let parts = ProcessParts::of(&config)?;
        parts.storage().clean();
        let (database, migrated) = database::prepare(&config)?;
        let config = Arc::new(config);
        let generation = Generation {
            config: Arc::clone(&config),
            parts,
        };
        let shared = Arc::new(ServerShared {
            config,
            limits: Arc::new(limits),
            database,
            generation: Mutex::new(Arc::new(generation)),
            reloading: Mutex::default(),
            watchdog: Watchdog::default(),
            crew: Mutex::default(),
            workers: Mutex::default(),
            events: stopper.events.clone(),
            next_id: AtomicU64::new(0),
            abandoned: AtomicUsize::new(0),
            is_ending: AtomicBool::new(false),
            ending: Arc::clone(&stopper.ending),
            started_once: Arc::default(),
        });
        let script_time_max = Duration::from_millis(shared.config.script.script_millis_max);
        shared
            .watchdog
            .start(script_time_max)
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        let loaded = shared.start_workers();
        if let Err(fault) = loaded {
            shared.end_workers();
            shared.watchdog.stop();
            shared.database.shutdown();
            return Err(database::with_applied(fault, &migrated));
        }
        let handles = shared
            .crew()
            .iter()
            .map(|member| member.handle.clone())
            .collect();
        let workers = Workers::new(handles, &shared.limits);
        *lock(&shared.workers) = Some(workers.clone());
        let logger = shared.config.logger.clone();
        let accepting = acceptor.start(workers, move |note| logger.text(Level::Warn, note));
        let accepting = accepting.map_err(|error| format!("cannot accept connections: {error}"))?;
        let count = shared.config.workers;
        let plural = if count == 1 { "" } else { "s" };
        shared.config.logger.text(
            Level::Info,
            format!(
                "listening on http://{address} with {count} worker{plural} ({}, sampan {})",
                shared.config.project.entry(),
                crate::VERSION
            ),
        );
        Ok(Running {
            address,
            shared,
            accepting,
            events: inbox,
        })
    }
}

impl Running {
    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many requests each worker has answered.
    pub fn requests(&self) -> Vec<u64> {
        self.shared
            .crew()
            .iter()
            .map(|member| member.handle.requests())
            .collect()
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

    /// Stops accepting, lets what is in flight end within `shutdown_millis_max`, and ends all threads. False if some had to
    /// be left behind.
    pub fn shutdown(self) -> bool {
        self.shared.is_ending.store(true, Ordering::SeqCst);
        let _ = self.shared.ending.set(Instant::now());
        self.accepting.stop();
        let all_ended = self.shared.end_workers();
        self.shared.watchdog.stop();
        self.shared.database.shutdown();
        all_ended
    }
}

/// Waits for a thread, but not for ever.
fn ends_by(thread: JoinHandle<()>, deadline: Instant) -> bool {
    while !thread.is_finished() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    thread.join().is_ok()
}

impl ServerShared {
    /// Starts all workers: one alone first, so that a fault of the project is told once, then the others together.
    fn start_workers(self: &Arc<Self>) -> Result<(), String> {
        for places in [0..1, 1..self.config.workers] {
            let mut starting = Vec::new();
            for place in places {
                starting.push(self.start_worker(place)?);
            }
            for (id, worker) in starting {
                let member =
                    ready(id, worker).map_err(|error| self.config.project.load_fault(&error))?;
                self.crew().push(member);
            }
        }
        Ok(())
    }

    /// Ends the workers that serve, and waits for them. False if some had to be left behind.
    fn end_workers(&self) -> bool {
        let crew = std::mem::take(&mut *self.crew());
        for member in &crew {
            member.handle.shutdown();
        }
        let patience = Duration::from_millis(self.limits.shutdown_millis_max + JOIN_MILLIS_MAX);
        let deadline = Instant::now() + patience;
        crew.into_iter()
            .all(|member| ends_by(member.thread, deadline))
    }

    fn start_worker(self: &Arc<Self>, place: usize) -> Result<(u64, Starting), String> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(self);
        let plan = WorkerPlan {
            id,
            place,
            generation: self.generation(),
            limits: Arc::clone(&self.limits),
            database: Arc::clone(&self.database),
            watchdog: self.watchdog.clone(),
            ending: Arc::clone(&self.ending),
            started_once: Arc::clone(&self.started_once),
            on_deaf: Box::new(move |handle, name| shared.abandon(id, place, &handle, name)),
        };
        let starting =
            worker::start(plan).map_err(|error| format!("cannot start a worker: {error}"))?;
        Ok((id, starting))
    }

    /// Gives up a worker whose script cannot be stopped, and starts another in its place. Its thread ends by itself should the
    /// script ever return. Runs on the watchdog's thread, which must go on watching: the new worker is awaited on another.
    fn abandon(self: &Arc<Self>, id: u64, place: usize, handle: &WorkerHandle, name: &str) {
        handle.abandon();
        handle.shutdown();
        let count = self.abandoned.fetch_add(1, Ordering::Relaxed) + 1;
        // As in app.worker.
        let number = place + 1;
        let message = format!(
            "worker {number} is deaf to its stop in {name}: abandoned ({count} of {ABANDONED_MAX} before the server gives up)"
        );
        self.config.logger.text(Level::Error, message);
        self.crew().retain(|member| member.id != id);
        if count >= ABANDONED_MAX {
            // Nobody receives it if the server is being shut down anyway.
            let _ = self.events.send(ServerEvent::GiveUp);
            return;
        }
        let shared = Arc::clone(self);
        let body = move || {
            if let Err(fault) = shared.fill_place(place) {
                shared.config.logger.text(
                    Level::Error,
                    format!("worker {number} could not be replaced: {fault}"),
                );
                let _ = shared.events.send(ServerEvent::GiveUp);
                return;
            }
            shared.look_after_lease();
        };
        if std::thread::Builder::new()
            .name("sampan-replace".into())
            .spawn(body)
            .is_err()
        {
            let _ = self.events.send(ServerEvent::GiveUp);
        }
    }

    /// An abandoned worker may have taken the write connection with it. Should it not come back, nothing can be written in this
    /// process any more.
    fn look_after_lease(&self) {
        let before = self.database.lease();
        if before.is_none() {
            return;
        }
        std::thread::sleep(LEASE_PATIENCE);
        if self.database.lease() == before && !self.is_ending.load(Ordering::SeqCst) {
            let message = "the abandoned worker keeps the write connection: the server gives up";
            self.config.logger.text(Level::Error, message);
            let _ = self.events.send(ServerEvent::GiveUp);
        }
    }

    /// Starts a worker in a place that has become free.
    fn fill_place(self: &Arc<Self>, place: usize) -> Result<(), String> {
        let _turn = self.turn();
        let (id, starting) = self.start_worker(place)?;
        let member = ready(id, starting).map_err(|error| self.config.project.load_fault(&error))?;
        let mut crew = self.crew();
        if self.is_ending.load(Ordering::SeqCst) {
            member.handle.shutdown();
            return Ok(());
        }
        if let Some(workers) = &*lock(&self.workers) {
            workers.replace(place, member.handle.clone());
        }
        let message = format!("a fresh worker serves in place {}", place + 1);
        self.config.logger.text(Level::Warn, message);
        crew.push(member);
        Ok(())
    }

    pub(crate) fn crew(&self) -> MutexGuard<'_, Vec<CrewMember>> {
        lock(&self.crew)
    }

    /// Waits until nobody reloads or replaces a worker, and keeps others from it.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        lock(&self.reloading)
    }

    pub(crate) fn generation(&self) -> Arc<Generation> {
        Arc::clone(&lock(&self.generation))
    }

    pub(crate) fn set_generation(&self, generation: Arc<Generation>) {
        *lock(&self.generation) = generation;
    }
}

/// Waits for a worker that starts.
fn ready(id: u64, starting: Starting) -> Result<CrewMember, Error> {
    let gone = |_| {
        Error::new(
            sampan_host::ErrorKind::Internal,
            "a worker ended while it started",
        )
    };
    let handle = starting.ready.recv().map_err(gone)??;
    Ok(CrewMember {
        id,
        handle,
        orders: starting.orders,
        thread: starting.thread,
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the address can be listened on, for those who want to know before anything else.
pub(crate) fn check_address(config: &Config) -> Result<(), String> {
    let bound = Acceptor::bind(config.listen, &config.http);
    bound
        .map(drop)
        .map_err(|error| bind_fault(config.listen, &error))
}

/// Why an address cannot be listened on, and what to do.
fn bind_fault(address: SocketAddr, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            let (by, who) = match port_owner::of(address) {
                Some(owner) => (format!(" by {owner}"), "it"),
                None => (String::new(), "the other program"),
            };
            let port = address.port();
            format!("port {port} is in use{by}: stop {who}, or choose another with --listen")
        }
        std::io::ErrorKind::PermissionDenied => {
            format!(
                "not allowed to listen on {address}: choose a port above 1023 with --listen, or run with the right to do so"
            )
        }
        std::io::ErrorKind::AddrNotAvailable => {
            format!("{address} is no address of this machine: choose another with --listen")
        }
        _ => format!("cannot listen on {address}: {error}"),
    }
}
