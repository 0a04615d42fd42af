//! One worker: a thread with its own runtime, its own isolate and its own connections.

use crate::compression::Compression;
use crate::config::Config;
use crate::hooks::Hooks;
use crate::process_parts::ProcessParts;
use crate::project::Language;
use crate::request::commit_gate::Gate;
use crate::request::dispatch::Dispatch;
use crate::request::id::Ids;
use crate::request::response_sink;
use crate::routing::loaded::{Control, Loaded};
use crate::routing::wrapping::SharedGuard;
use crate::sessions::WorkerSessions;
use crate::static_files::StaticFiles;
use crate::templates;
use crate::watchdog::Watchdog;
use sampan_crypto::KeySealer;
use sampan_db::Database;
use sampan_host::{
    Context, CurrentRun, Error, ErrorKind, RequestView, Setup, Watch, WorkerPlace, sealer,
};
use sampan_http::{Limits, WorkerHandle};
use sampan_log::{Entry, Level};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::task::{LocalSet, spawn_local};

/// The stack of a worker's thread, in bytes: what JavaScript needs, which recurses natively; Lua needs less.
const STACK_BYTES: usize = sampan_js::STACK_BYTES;
/// How often a worn-out isolate is replaced at most, in milliseconds.
const REPLACE_MILLIS_MIN: u64 = 1_000;

/// How often a shutdown looks whether the work after answers has ended.
const BACKGROUND_PAUSE: Duration = Duration::from_millis(10);

/// What is done about a worker that is deaf to its stop; called with what its script was doing.
pub(crate) type OnDeaf = Box<dyn FnOnce(WorkerHandle, &str) + Send>;

/// What a worker is made from.
pub(crate) struct WorkerPlan {
    /// Tells this worker from all others of the process, also from those whose place it takes.
    pub(crate) id: u64,
    /// The place that it has among the workers.
    pub(crate) place: usize,
    pub(crate) config: Arc<Config>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) database: Arc<Database>,
    pub(crate) parts: ProcessParts,
    pub(crate) watchdog: Watchdog,
    /// Set when the server begins to shut down.
    pub(crate) ending: Arc<OnceLock<Instant>>,
    /// Whether the functions that start once for the process have run.
    pub(crate) started_once: Arc<AtomicBool>,
    /// Called from the watchdog's thread if the worker, once it serves, is deaf to a stop.
    pub(crate) on_deaf: OnDeaf,
}

/// A worker that is starting.
pub(crate) struct Starting {
    /// Tells once whether the project loaded.
    pub(crate) ready: Receiver<Result<WorkerHandle, Error>>,
    pub(crate) thread: JoinHandle<()>,
}

/// Starts a worker's thread.
///
/// # Errors
/// The system has no thread left.
pub(crate) fn start(plan: WorkerPlan) -> std::io::Result<Starting> {
    let (sender, ready) = sync_channel(2);
    let name = format!("sampan-w{}", plan.place);
    let thread = std::thread::Builder::new()
        .name(name)
        .stack_size(STACK_BYTES)
        .spawn(move || run(plan, &sender))?;
    Ok(Starting { ready, thread })
}

fn run(plan: WorkerPlan, ready: &SyncSender<Result<WorkerHandle, Error>>) {
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            let fault = Error::new(
                ErrorKind::Internal,
                format!("cannot start a worker: {error}"),
            );
            return drop(ready.send(Err(fault)));
        }
    };
    let (id, watchdog) = (plan.id, plan.watchdog.clone());
    LocalSet::new().block_on(&runtime, serve(plan, ready));
    watchdog.remove(id);
}

async fn serve(plan: WorkerPlan, ready: &SyncSender<Result<WorkerHandle, Error>>) {
    let watch = Arc::new(Watch::default());
    let (deaf, script_millis) = (ready.clone(), plan.config.script.script_millis_max);
    let deaf_while_loading = move |name: &str| {
        let message =
            format!("{name} did not end within {script_millis} ms and could not be stopped");
        let _ = deaf.send(Err(Error::new(ErrorKind::Load, message)));
    };
    plan.watchdog
        .add(plan.id, Arc::clone(&watch), Box::new(deaf_while_loading));
    // A JavaScript handler goes on in the run that settles its promise; a coroutine goes on in a run of its own.
    let runs_mix = plan.config.project.language() == Some(Language::Js);
    let current = CurrentRun::new(plan.config.logger.has_access_log());
    let gate = Gate::new(&plan.database, &watch, &current, runs_mix);
    let (root, storage) = (plan.config.project.root(), &plan.config.files.storage);
    let files = match StaticFiles::open(root, storage, plan.config.static_files.clone()) {
        Ok(files) => files,
        Err(error) => return drop(ready.send(Err(error))),
    };
    let loader = Rc::new(Loader::new(&plan, watch, Rc::clone(&gate), files, current));
    let loaded = match loader.load() {
        Ok(loaded) => loaded,
        Err(error) => return drop(ready.send(Err(error))),
    };
    if plan.place == 0 && loaded.answers_nothing() {
        let entry = plan.config.project.entry();
        let message =
            format!("{entry} declares no routes and exports no fetch: every answer will be 404");
        plan.config.logger.text(Level::Warn, message);
    }
    let (handle, worker) = sampan_http::worker(Arc::clone(&plan.limits));
    gate.serve(handle.clone());
    loader.sessions.serve(&plan.config);
    if let Err(error) = loader.start_hooks(&loaded).await {
        return drop(ready.send(Err(error)));
    }
    let (names, abandoned, on_deaf) = (loaded.handler_names(), handle.clone(), plan.on_deaf);
    plan.watchdog.loaded(
        plan.id,
        names,
        Box::new(move |name| on_deaf(abandoned, name)),
    );
    let dispatch = Rc::new(Dispatch::new(loaded));
    loader.dispatch.replace(Rc::downgrade(&dispatch));
    if ready.send(Ok(handle)).is_ok() {
        worker.run(Rc::clone(&dispatch)).await;
        end_background(&dispatch, &plan.config, &plan.ending).await;
        end_hooks(&dispatch, &plan.config, &plan.ending).await;
    }
}

/// Lets work that goes on after answers end too, within the time that a shutdown gives requests.
async fn end_background(dispatch: &Dispatch, config: &Config, ending: &OnceLock<Instant>) {
    let time_max = Duration::from_millis(config.http.shutdown_millis_max);
    while dispatch.ending_requests() > 0 {
        // Each has its own limit.
        tokio::time::sleep(BACKGROUND_PAUSE).await;
    }
    while let requests @ 1.. = dispatch.background_requests() {
        let is_over = ending.get().is_none_or(|begun| begun.elapsed() >= time_max);
        if is_over {
            let message = format!(
                "work after answers (requests: {requests}): cut by the shutdown (shutdown_millis_max)"
            );
            return config.logger.text(Level::Warn, message);
        }
        tokio::time::sleep(BACKGROUND_PAUSE).await;
    }
}

/// Lets the project's `on_stop` run, within the time that is left of a shutdown.
async fn end_hooks(dispatch: &Dispatch, config: &Config, ending: &OnceLock<Instant>) {
    let time_max = Duration::from_millis(config.http.shutdown_millis_max);
    let passed = ending.get().map_or(Duration::ZERO, Instant::elapsed);
    let loaded = dispatch.loaded();
    let report = |error: &Error| {
        let text = format!("on_stop: {error}");
        response_sink::log_of(&loaded.control.logger, None, text, error);
    };
    let left = time_max.saturating_sub(passed);
    loaded.hooks.stop(&loaded.control.gate, left, report).await;
}

/// Loads the project on this worker: at start, and again when its isolate is worn out.
struct Loader {
    config: Arc<Config>,
    parts: ProcessParts,
    watch: Arc<Watch>,
    gate: Rc<Gate>,
    sessions: WorkerSessions,
    files: Rc<StaticFiles>,
    current: CurrentRun,
    ids: Rc<Ids>,
    compression: Option<Rc<Compression>>,
    watchdog: Watchdog,
    id: u64,
    place: WorkerPlace,
    ending: Arc<OnceLock<Instant>>,
    started_once: Arc<AtomicBool>,
    /// Requests that were given up and are ending, over all isolates.
    endings: Rc<Cell<usize>>,
    dispatch: RefCell<Weak<Dispatch>>,
    /// Whether a replacement is on its way, so that there is one at a time.
    is_replacing: Cell<bool>,
}

impl Loader {
    fn new(
        plan: &WorkerPlan,
        watch: Arc<Watch>,
        gate: Rc<Gate>,
        files: Rc<StaticFiles>,
        current: CurrentRun,
    ) -> Self {
        Self {
            files,
            config: Arc::clone(&plan.config),
            parts: plan.parts.clone(),
            watch,
            sessions: WorkerSessions::new(gate.db().clone()),
            gate,
            current,
            ids: Rc::new(Ids::new()),
            compression: plan
                .config
                .compression
                .map(|bytes_max| Rc::new(Compression::new(bytes_max))),
            watchdog: plan.watchdog.clone(),
            id: plan.id,
            ending: Arc::clone(&plan.ending),
            started_once: Arc::clone(&plan.started_once),
            endings: Rc::default(),
            place: WorkerPlace {
                index: plan.place + 1,
                count: plan.config.workers,
            },
            dispatch: RefCell::default(),
            is_replacing: Cell::new(false),
        }
    }

    fn load(self: &Rc<Self>) -> Result<Rc<Loaded>, Error> {
        let config = &self.config;
        let language = config
            .project
            .language()
            .ok_or_else(|| Error::new(ErrorKind::Load, "unknown language"))?;
        let logger = Rc::new(config.logger.clone());
        let context = Context::default();
        context.put(config.logger.clone());
        context.put(config.script.clone());
        context.put(self.place);
        context.put(Hooks::default());
        context.put(Rc::clone(&self.files));
        self.parts.put_into(&context, &config.logger);
        if let Some(keys) = &config.secret_keys {
            sealer::put(&context, Rc::new(KeySealer::new(keys.clone())));
        }
        self.gate.put_into(&context);
        self.sessions.put_into(&context, config)?;
        let context = Rc::new(context);
        templates::put_store(&context, self.parts.templates(), Rc::clone(&self.files));
        let gate = Rc::clone(&self.gate);
        let (report_to, printed) = (Rc::clone(&logger), Rc::clone(&logger));
        let (current, printing) = (self.current.clone(), self.current.clone());
        let setup = Setup {
            sources: config.project.sources(),
            entry: config.project.entry().to_owned(),
            modules: config.modules,
            context,
            limits: config.script.clone(),
            watch: Arc::clone(&self.watch),
            spawn: Rc::new(move |future| drop(spawn_local(gate.background(future)))),
            console: Rc::new(move |level, text| {
                let request = printing.request();
                let entry = Entry {
                    id: request.as_deref().map(RequestView::id),
                    request: request
                        .as_deref()
                        .map(|request| (request.method(), request.path())),
                    ..Entry::text(text)
                };
                printed.write(level.parse().unwrap_or(Level::Info), &entry);
            }),
            sleep: Rc::new(|time| Box::pin(tokio::time::sleep(time))),
            report: Rc::new(move |error| {
                let request = current.request();
                let text = format!("in the background: {error}");
                response_sink::log_of(&report_to, request.as_deref(), text, &error);
            }),
        };
        let loader = Rc::downgrade(self);
        let control = Control {
            logger,
            gate: Rc::clone(&self.gate),
            trusted: config.trusted_proxies.as_slice().into(),
            ids: Rc::clone(&self.ids),
            compression: self.compression.clone(),
            csrf: config
                .csrf
                .as_ref()
                .map(|csrf| Rc::new(csrf.clone()) as SharedGuard),
            files: Rc::clone(&self.files),
            current: self.current.clone(),
            worn_out: Box::new(move || {
                if let Some(loader) = loader.upgrade() {
                    loader.replace_soon();
                }
            }),
            ending: Arc::clone(&self.ending),
            shutdown_time_max: Duration::from_millis(config.http.shutdown_millis_max),
            handler_time_max: Duration::from_millis(config.http.handler_millis_max),
            cleanup_time_max: Duration::from_millis(config.script.cleanup_millis_max),
            endings: Rc::clone(&self.endings),
        };
        self.gate.set_loading(true);
        let loaded = Loaded::load(language, setup, Rc::new(control));
        self.gate.set_loading(false);
        loaded
    }

    /// Runs the project's `on_start`.
    async fn start_hooks(&self, loaded: &Loaded) -> Result<(), Error> {
        let time_max = Duration::from_millis(self.config.http.handler_millis_max);
        self.gate.set_loading(true);
        let hooks = &loaded.hooks;
        let started = hooks.start(&self.gate, &self.started_once, time_max, &self.ending);
        let started = started.await;
        self.gate.set_loading(false);
        started
    }

    /// Loads a fresh isolate beside the worn-out one and swaps them; requests in flight end on the old one. If the
    /// project does not load any more, the old isolate goes on.
    fn replace_soon(self: Rc<Self>) {
        if self.is_replacing.replace(true) {
            return;
        }
        drop(spawn_local(async move {
            self.gate.before_loading().await;
            let loaded = match self.load() {
                Ok(loaded) => self.start_hooks(&loaded).await.map(|()| loaded),
                failed => failed,
            };
            match loaded {
                Ok(loaded) => {
                    if let Some(dispatch) = self.dispatch.borrow().upgrade() {
                        let message =
                            "an isolate that ran out of memory was replaced by a fresh one";
                        self.config.logger.text(Level::Warn, message);
                        self.watchdog.rename(self.id, loaded.handler_names());
                        dispatch.replace(loaded);
                    }
                }
                Err(error) => {
                    let text = format!("replacing a worn-out isolate: {error}");
                    response_sink::log_of(&self.config.logger, None, text, &error);
                }
            }
            tokio::time::sleep(Duration::from_millis(REPLACE_MILLIS_MIN)).await;
            self.is_replacing.set(false);
        }));
    }
}
