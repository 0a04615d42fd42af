//! The whole server: workers, acceptor, watchdog, and how they start and end.
//!
//! [`Server::start`] begins everything and [`Running::shutdown`] ends it. The workers are its `crew`; a lost one is
//! replaced. `signals` is the life of a process that serves, and `systemd` hears of it. Where a program has threads of
//! its own for scripts, it is a `Host`.

mod crew;
pub(crate) mod hosted;
pub(crate) mod signals;
pub(crate) mod systemd;
mod worker;

pub use worker::HostedWorker;

use crate::app_config::AppConfig;
use crate::database;
use crate::listening::{self, Listening, User};
use crate::process_parts::ProcessParts;
use crate::reload::{Generation, Reloader};
use crate::worker::watchdog::Watchdog;
use crew::CrewMember;
use sampan_db::Database;
use sampan_files::SPOOLED_FILES_MAX;
use sampan_host::log::Level;
use sampan_http::{Accepting, Limits, UnsentBytes, Workers};
use sampan_serve::files::OPEN_FILES_MAX;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Files that the process may need besides its connections: the project's sources, and what capabilities open.
const RESERVED_FILES: u64 = 64;

/// The address of a server that has no port.
const NO_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// The event that ends a running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// Someone asked for it.
    Shutdown,
    /// Too many workers had to be abandoned: the process should end, for its supervisor to start a fresh one.
    GiveUp,
}

/// The receiver of the events that end a server. Several servers, one after the other, may wait for them.
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
    /// The ports that it listens on.
    addresses: Vec<SocketAddr>,
    shared: Arc<ServerShared>,
    accepting: Vec<Accepting>,
    /// The listening addresses, for people.
    names: String,
    events: ServerEvents,
}

/// The state that the parts of a server share.
pub(crate) struct ServerShared {
    /// As it was at start: what a reload does not change.
    pub(crate) config: Arc<AppConfig>,
    limits: Arc<Limits>,
    /// The bytes that clients have not read, counted for all workers.
    unsent: Arc<UnsentBytes>,
    pub(crate) database: Arc<Database>,
    /// The generation that the workers serve; a worker that takes another's place loads it.
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
    /// True if the functions that start once for the process have run.
    started_once: Arc<AtomicBool>,
}

impl Server {
    /// Loads the project on every worker, then accepts connections.
    ///
    /// # Errors
    /// The project does not load, or the address cannot be listened on: one line that says what to do.
    pub fn start(config: AppConfig) -> Result<Running, String> {
        let (stopper, events) = Stopper::new();
        Self::start_until(config, &stopper, events)
    }

    /// Starts a server that `stop` can end, also while it starts: that is an error then.
    pub(crate) fn start_until(
        mut config: AppConfig,
        stopper: &Stopper,
        inbox: ServerEvents,
    ) -> Result<Running, String> {
        config.check_host()?;
        let (listening, limits) = listen(&config)?;
        let ports = listening.iter().map(|one| one.acceptor.local_addr());
        let addresses = ports.filter_map(Result::ok).collect();
        let names: Vec<&str> = listening.iter().map(|one| one.name.as_str()).collect();
        let names = names.join(" and ");
        config.follow_files();
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
            unsent: UnsentBytes::new(&limits),
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
        let script_time_max = Duration::from_millis(shared.config.serving.script.script_millis_max);
        // Nobody but its host can stop a script that a host runs.
        if shared.config.program.host.is_none() {
            shared
                .watchdog
                .start(script_time_max)
                .map_err(|error| format!("cannot start a thread: {error}"))?;
        }
        let loaded = shared.start_workers();
        if let Err(fault) = loaded {
            shared.end_workers();
            shared.watchdog.stop();
            shared.database.shutdown();
            return Err(database::with_applied(fault, &migrated));
        }
        if let Some(files) = &shared.config.program.script_files {
            files.followed.seen().is_loaded();
            files.start(Reloader(Arc::clone(&shared)))?;
        }
        let handles = shared
            .crew()
            .iter()
            .map(|member| member.handle.clone())
            .collect();
        let workers = Workers::new(handles, &shared.limits);
        *lock(&shared.workers) = Some(workers.clone());
        let logger = &shared.config.program.logger;
        let accepting = listening.into_iter().map(|one| {
            let logger = logger.clone();
            let note = move |note: &str| logger.text(Level::Warn, note);
            let started = one.acceptor.start(workers.clone(), note);
            started.map_err(|error| format!("cannot accept connections: {error}"))
        });
        let accepting = accepting.collect::<Result<_, _>>()?;
        logger.text(Level::Info, ready_line(&shared.config, &names));
        Ok(Running {
            addresses,
            shared,
            accepting,
            names,
            events: inbox,
        })
    }
}

/// Opens what it listens on, as the user who started it, and becomes the user that it is to run as.
fn listen(config: &AppConfig) -> Result<(Vec<Listening>, Limits), String> {
    let mut limits = config.serving.http.clone();
    // Each worker keeps the files of two folders open.
    let files = SPOOLED_FILES_MAX + config.base.workers * 2 * OPEN_FILES_MAX;
    let files = RESERVED_FILES + files as u64;
    if let Some(note) = sampan_http::raise_open_files(&mut limits, files) {
        config.program.logger.text(Level::Warn, note);
    }
    let user = config
        .base
        .user
        .as_deref()
        .map(User::find)
        .transpose()?
        .flatten();
    let listening = listening::open(config, &limits, user.as_ref())?;
    if let Some(user) = &user {
        // From here on: what is made later, such as the database, is that user's.
        user.become_it()?;
    }
    Ok((listening, limits))
}

/// Returns the log line for the moment when connections are accepted.
fn ready_line(config: &AppConfig, names: &str) -> String {
    let count = config.base.workers;
    let plural = if count == 1 { "" } else { "s" };
    let entry = match config.base.project.entry() {
        "" => "no project",
        entry => entry,
    };
    let version = crate::VERSION;
    format!("listening on {names} with {count} worker{plural} ({entry}, sampan {version})")
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

    pub(crate) fn watchdog(&self) -> Watchdog {
        self.shared.watchdog.clone()
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

impl ServerShared {
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
