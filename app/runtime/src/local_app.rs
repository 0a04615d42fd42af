//! A project in this process without a server: requests are function calls. `sampan test` drives it.
//!
//! A [`LocalRun`] is what several of them share: the configuration, the templates, the database as the migrations leave
//! it. Each [`LocalApp`] lives on a thread of its own, with a database file of its own. Further scripts are loaded
//! beside it on that thread; they use the same database, and a function of theirs that waits for a request lets the
//! project run meanwhile.

mod start_state;

use crate::app_config::AppConfig;
use crate::database;
use crate::generation::Generation;
use crate::migrations::migrations_of;
use crate::process_state::ProcessState;
use crate::worker::loader::{Beside, Loader, OnUnawaited};
use crate::worker::plan::WorkerPlan;
use crate::worker::start::{LoadedWorker, STACK_BYTES, run_here, watch_of};
use crate::worker::watchdog::Watchdog;
use sampan_db::{AppDatabase, DatabaseConfig, Durability, TestDatabases, migrate};
use sampan_host::fetch::Fetcher;
use sampan_host::jobs::{JobQueue, JobRuns};
use sampan_host::{Callback, Context, Error, LocalFuture, Module, Watch};
use sampan_http::{
    ClientBytes, DirectAnswer, DirectSocket, Limits, answer_directly, connect_directly,
};
use sampan_project::Project;
use sampan_serve::Dispatch;
use sampan_serve::Gate;
use sampan_serve::Loaded;
use sampan_serve::fetch::LocalNetwork;
use start_state::{MIGRATED, ServerCopy, StartState};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// The database that the others are copies of.
const TEMPLATE: &str = "migrated.db";

/// The ids that the watchdog knows the project and the scripts beside it by.
const PROJECT_ID: u64 = 0;
const SCRIPT_ID: u64 = 1;

/// The callback for a script that cannot be stopped, with the name of its handler.
pub(crate) type WhenDeaf = Arc<dyn Fn(&str) + Send + Sync>;

/// The state that several [`LocalApp`]s of one project share.
pub struct LocalRun {
    config: AppConfig,
    watchdog: Watchdog,
    scratch: PathBuf,
    /// The databases on a server, if the project has its database there.
    server: Option<Arc<TestDatabases>>,
}

impl LocalRun {
    /// Reads templates and texts, and runs the migrations on a fresh database: in the folder `scratch`, which is the
    /// caller's to remove, or on the project's server.
    ///
    /// # Errors
    /// A file of the project is wrong: which, where and why.
    pub fn new(mut config: AppConfig, scratch: &Path) -> Result<Self, String> {
        config.base.workers = 1;
        config.database.config.durability = Durability::Throwaway;
        config.database.config.file = Default::default();
        // So that faults of its files are told at once.
        ProcessState::of(&config)?;
        let server = config.database.config.is_postgres().then(|| {
            let made = TestDatabases::new(&config.database.config, MIGRATED);
            made.map(Arc::new).map_err(|error| error.to_string())
        });
        let run = Self {
            watchdog: Watchdog::default(),
            scratch: scratch.to_owned(),
            server: server.transpose()?,
            config,
        };
        let template = match &run.server {
            Some(server) => server.config(MIGRATED),
            None => DatabaseConfig {
                path: scratch.join(TEMPLATE),
                ..run.config.database.config.clone()
            },
        };
        let migrations = migrations_of(&run.config.base.project)?;
        if run.config.database.migrate && migrations.exist() {
            migrate::run(&template, &migrations, &mut |_| ()).map_err(|error| error.to_string())?;
        }
        let script_time_max = Duration::from_millis(run.config.serving.script.script_millis_max);
        run.watchdog
            .start(script_time_max)
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(run)
    }

    /// The project.
    pub fn project(&self) -> &Project {
        &self.config.base.project
    }

    /// Starts a thread with the project loaded, on a database and a storage folder of its own below `name` in the
    /// scratch folder. `body` gets it, or why it does not load. `when_deaf` is called, from another thread, if a script
    /// there cannot be stopped: the thread is lost then.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start<B>(
        &self,
        name: &str,
        when_deaf: WhenDeaf,
        body: B,
    ) -> std::io::Result<JoinHandle<()>>
    where
        B: FnOnce(Result<Rc<LocalApp>, String>) -> LocalFuture<()> + Send + 'static,
    {
        let folder = self.scratch.join(name);
        let template = self.scratch.join(TEMPLATE);
        let mut config = self.config.clone();
        config.database.config.path = folder.join("data.db");
        config.database.config.file = Default::default();
        config.program.scratch = Some(folder.clone());
        config.program.is_local = true;
        config.database.migrate = false;
        let watchdog = self.watchdog.clone();
        let server = self.server.clone();
        let server = server.map(|databases| ServerCopy::new(databases, name));
        let whole = async move || {
            let made = fs::create_dir_all(&folder).and_then(|()| match template.exists() {
                true => fs::copy(&template, &config.database.config.path).map(drop),
                false => Ok(()),
            });
            let made = made.map_err(|error| format!("{}: {error}", folder.display()));
            let made = made.and_then(|()| match &server {
                Some(server) => {
                    config.database.config = server.config();
                    server.make().map_err(|error| error.to_string())
                }
                None => Ok(()),
            });
            let app = match made {
                Ok(()) => LocalApp::load(config, server, watchdog.clone(), when_deaf).await,
                Err(error) => Err(error),
            };
            body(app).await;
            watchdog.remove(PROJECT_ID);
            watchdog.remove(SCRIPT_ID);
        };
        let runs = move || {
            if let Err(error) = run_here(whole()) {
                panic!("cannot start a runtime: {error}");
            }
        };
        std::thread::Builder::new()
            .name(format!("sampan-{name}"))
            .stack_size(STACK_BYTES)
            .spawn(runs)
    }
}

impl Drop for LocalRun {
    fn drop(&mut self) {
        self.watchdog.stop();
    }
}

/// A project on this thread.
pub struct LocalApp {
    config: Arc<AppConfig>,
    state: ProcessState,
    limits: Arc<Limits>,
    watchdog: Watchdog,
    loader: Rc<Loader>,
    gate: Rc<Gate>,
    dispatch: Rc<Dispatch>,
    database: AppDatabase,
    start: Mutex<StartState>,
    when_deaf: WhenDeaf,
}

/// A script beside the project. Its functions run as long as this is there.
pub struct LocalScript(Rc<Loaded>);

impl LocalScript {
    /// Returns the number of calls whose work still goes on: timers, and promises that are not awaited.
    pub fn unfinished(&self) -> usize {
        self.0.engine.background_requests()
    }
}

impl LocalApp {
    /// Returns the value of type `T` that a capability shares between workers.
    pub fn shared<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.state.get()
    }

    /// Returns the value of type `T` that a capability keeps in the isolate of the project.
    pub fn kept<T: 'static>(&self) -> Option<Rc<T>> {
        self.loaded().context.get()
    }

    async fn load(
        config: AppConfig,
        server: Option<ServerCopy>,
        watchdog: Watchdog,
        when_deaf: WhenDeaf,
    ) -> Result<Rc<Self>, String> {
        let state = ProcessState::of(&config)?;
        state.start();
        let (database, _) = database::prepare(&config)?;
        database.prepare().map_err(|error| error.to_string())?;
        let limits = Arc::new(config.serving.http.clone());
        let (told, told_later) = (Arc::clone(&when_deaf), Arc::clone(&when_deaf));
        let config = Arc::new(config);
        let plan = WorkerPlan {
            id: PROJECT_ID,
            place: 0,
            is_trial: false,
            generation: Arc::new(Generation::new(Arc::clone(&config), state.clone())),
            unsent: ClientBytes::new(&limits),
            parking: None,
            limits: Arc::clone(&limits),
            database: database.clone(),
            watchdog: watchdog.clone(),
            ending: Arc::default(),
            started_once: Arc::default(),
            takes_connections: false,
            lane: None,
            route_names: None,
            numbers_routes: false,
            health: None,
            metrics_answers: None,
            metrics: None,
            tracing: None,
            on_deaf: Box::new(move |_, name| told_later(name)),
        };
        let fault = |error: Error| config.base.project.load_fault(&error);
        let loaded = plan.load(watch_of(&config), Box::new(move |name| told(name)));
        // It gets no connections, so no request waits for another's.
        let LoadedWorker {
            gate,
            loader,
            dispatch,
            ..
        } = loaded.await.map_err(fault)?;
        gate.settled().await.map_err(fault)?;
        let start = match server {
            Some(server) => StartState::of_server(server).await.map_err(fault)?,
            None => StartState::of_file(&config.database.config).map_err(fault)?,
        };
        Ok(Rc::new(Self {
            state,
            limits,
            watchdog,
            loader,
            gate,
            dispatch,
            database,
            start: Mutex::new(start),
            when_deaf,
            config,
        }))
    }

    /// Loads a file of the project beside it, with these capabilities; `put` gives them what they keep, `unawaited` is
    /// told of errors that are not awaited. One at a time.
    ///
    /// # Errors
    /// It does not load: the place, the line of the source and the stack.
    pub fn script(
        &self,
        entry: &str,
        modules: &'static [&'static Module],
        put: impl FnOnce(&Context),
        unawaited: OnUnawaited,
    ) -> Result<LocalScript, String> {
        let watch = Arc::new(Watch::default());
        let told = Arc::clone(&self.when_deaf);
        self.watchdog.remove(SCRIPT_ID);
        self.watchdog.add(
            SCRIPT_ID,
            Arc::clone(&watch),
            Box::new(move |name| told(name)),
        );
        let generation = self.loader.generation();
        let beside = Beside {
            put: Box::new(put),
            unawaited,
        };
        let loaded = self
            .loader
            .load_file(&generation, entry, modules, &watch, Some(beside));
        let loaded = loaded.map_err(|error| match error.place() {
            Some(_) => self.config.base.project.load_fault(&error),
            None => format!("{entry}: {error}"),
        });
        loaded.map(LocalScript)
    }

    /// Runs a function of a script beside the project, until what it wrote is committed.
    ///
    /// # Errors
    /// The error that it raised.
    pub async fn call(&self, function: Callback) -> Result<(), Error> {
        self.gate.background(function.start(Vec::new())).await?;
        self.gate.settled().await
    }

    /// The project's answer to a request, given as its bytes, from a client at `peer`.
    pub async fn answer(&self, request: &[u8], peer: SocketAddr) -> DirectAnswer {
        answer_directly(&*self.dispatch, request, peer, &self.limits).await
    }

    /// Answers as [`LocalApp::answer`] does, for the handshake of a WebSocket: with the client's end of the socket if
    /// the answer is 101.
    pub async fn connect(
        &self,
        request: &[u8],
        peer: SocketAddr,
    ) -> (DirectAnswer, Option<DirectSocket>) {
        connect_directly(&*self.dispatch, request, peer, &self.limits).await
    }

    /// Runs the jobs that are due, and those that they add, each until this time at the latest.
    ///
    /// # Errors
    /// The database's own, or there are too many.
    pub async fn run_jobs(&self, until: Option<Instant>) -> Result<JobRuns, Error> {
        self.gate.settled().await?;
        let queue = self.loaded().context.get::<Rc<dyn JobQueue>>();
        match queue {
            Some(queue) => queue.run_due(until).await,
            None => Ok(JobRuns::default()),
        }
    }

    /// Puts the database, and what capabilities keep, back to what they were when the project had started.
    ///
    /// # Errors
    /// A file cannot be written.
    pub async fn restore(&self) -> Result<(), Error> {
        self.gate.settled().await?;
        self.start.lock().await.restore().await?;
        self.state.restore();
        Ok(())
    }

    /// The project as it was loaded.
    pub(crate) fn loaded(&self) -> Rc<Loaded> {
        self.dispatch.loaded()
    }

    /// Returns the way of requests to the network. While the project starts it has another, which is only to this
    /// machine.
    pub fn network(&self) -> Option<Rc<dyn Fetcher>> {
        let network = self.loaded().context.get::<LocalNetwork>();
        network.map(|network| Rc::clone(&network.0))
    }

    /// Has the project send its requests to other servers by another way.
    pub fn fetch_by(&self, fetcher: Rc<dyn Fetcher>) {
        self.loaded().context.put(fetcher);
    }

    /// Describes the error of a script: the place, the line of the source and the stack.
    pub fn fault(&self, error: &Error) -> String {
        self.config.base.project.load_fault(error)
    }

    /// The log so far, where it is captured.
    pub fn log(&self) -> String {
        self.config.program.logger.lines()
    }
}

impl Drop for LocalApp {
    fn drop(&mut self) {
        self.database.shutdown();
    }
}
