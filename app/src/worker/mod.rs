//! One worker: a thread with its own runtime, its own isolate and its own connections.

pub(crate) mod hosted;
pub(crate) mod watchdog;

use crate::compression::Compression;
use crate::config::Config;
use crate::dev::{DevErrors, DevHandler};
use crate::hooks::Hooks;
use crate::project::Language;
use crate::reload::{self, FileModeHandler, Generation, Order, Retiring};
use crate::request::commit_gate::Gate;
use crate::request::dispatch::Dispatch;
use crate::request::id::Ids;
use crate::request::response_sink;
use crate::routing::loaded::{Control, Loaded};
use crate::routing::wrapping::SharedGuard;
use crate::sessions::WorkerSessions;
use crate::static_files::StaticFiles;
use crate::templates;
use sampan_crypto::KeySealer;
use sampan_db::Database;
use sampan_host::{
    Context, CurrentRun, Error, ErrorKind, Isolation, Module, RequestView, Setup, Watch,
    WorkerPlace, sealer,
};
use sampan_http::{HandlerSlot, Limits, Pump, PumpSocket, Runtime, WorkerHandle};
use sampan_log::{Entry, Level};
use std::cell::{Cell, RefCell};
use std::io;
use std::net::TcpStream;
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{LocalSet, spawn_local};
use watchdog::Watchdog;

/// The stack of a worker's thread, in bytes: what JavaScript needs, which recurses natively; Lua needs less.
pub(crate) const STACK_BYTES: usize = sampan_js::STACK_BYTES;
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
    /// What it loads first.
    pub(crate) generation: Arc<Generation>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) database: Arc<Database>,
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
    /// What it is told once it serves.
    pub(crate) orders: UnboundedSender<Order>,
    pub(crate) thread: WorkerThread,
}

/// What a worker runs on.
pub(crate) enum WorkerThread {
    /// A thread of its own.
    Own(JoinHandle<()>),
    /// One of the host's: true once the worker has ended.
    Hosted(Arc<AtomicBool>),
}

impl WorkerThread {
    /// Whether the worker has ended.
    pub(crate) fn is_finished(&self) -> bool {
        match self {
            Self::Own(thread) => thread.is_finished(),
            Self::Hosted(ended) => ended.load(Ordering::Acquire),
        }
    }

    /// Takes note of a worker that has ended. False if it panicked.
    pub(crate) fn join(self) -> bool {
        match self {
            Self::Own(thread) => thread.join().is_ok(),
            Self::Hosted(_) => true,
        }
    }
}

/// A worker that a [`Host`](crate::Host) is to run.
pub struct HostedWorker {
    plan: WorkerPlan,
    orders: UnboundedReceiver<Order>,
    ready: Ready,
    ended: Arc<AtomicBool>,
}

impl HostedWorker {
    /// Runs the worker to its end, on the sockets of a pump. To be polled on one thread, in a tokio `LocalSet`, where tokio's time can
    /// be used.
    pub async fn run(self, sockets: Pump) {
        let (id, watchdog) = (self.plan.id, self.plan.watchdog.clone());
        serve(self.plan, self.orders, &self.ready, Some(Hosted(sockets))).await;
        watchdog.remove(id);
        self.ended.store(true, Ordering::Release);
    }
}

/// What a hosted worker's connections run on: sockets of a pump, and tasks in one queue with those of the capabilities.
#[derive(Clone)]
struct Hosted(Pump);

impl Runtime for Hosted {
    type Socket = PumpSocket;

    fn socket(&self, socket: TcpStream) -> io::Result<PumpSocket> {
        self.0.socket(socket)
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        drop(spawn_local(task));
    }

    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + 'static {
        self.0.sleep(time)
    }
}

impl std::fmt::Debug for HostedWorker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostedWorker").finish_non_exhaustive()
    }
}

/// Starts a worker: on a thread of its own, or on one of the host's.
///
/// # Errors
/// The system has no thread left.
pub(crate) fn start(plan: WorkerPlan) -> std::io::Result<Starting> {
    let (sender, ready) = sync_channel(2);
    let (orders, inbox) = unbounded_channel();
    if let Some(host) = plan.generation.config.host.clone() {
        let ended: Arc<AtomicBool> = Arc::default();
        host.run(HostedWorker {
            plan,
            orders: inbox,
            ready: sender,
            ended: Arc::clone(&ended),
        });
        return Ok(Starting {
            ready,
            orders,
            thread: WorkerThread::Hosted(ended),
        });
    }
    let name = format!("sampan-w{}", plan.place);
    let thread = std::thread::Builder::new()
        .name(name)
        .stack_size(STACK_BYTES)
        .spawn(move || run(plan, inbox, &sender))?;
    Ok(Starting {
        ready,
        orders,
        thread: WorkerThread::Own(thread),
    })
}

type Ready = SyncSender<Result<WorkerHandle, Error>>;

fn run(plan: WorkerPlan, orders: UnboundedReceiver<Order>, ready: &Ready) {
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
    LocalSet::new().block_on(&runtime, serve(plan, orders, ready, None));
    watchdog.remove(id);
}

async fn serve(
    plan: WorkerPlan,
    orders: UnboundedReceiver<Order>,
    ready: &Ready,
    hosted: Option<Hosted>,
) {
    let config = Arc::clone(&plan.generation.config);
    let watch = Arc::new(match config.is_profiled {
        true => Watch::sampled(),
        false => Watch::default(),
    });
    let (deaf, script_millis) = (ready.clone(), config.script.script_millis_max);
    let deaf_while_loading = move |name: &str| {
        let message =
            format!("{name} did not end within {script_millis} ms and could not be stopped");
        let _ = deaf.send(Err(Error::new(ErrorKind::Load, message)));
    };
    plan.watchdog
        .add(plan.id, Arc::clone(&watch), Box::new(deaf_while_loading));
    // A JavaScript handler goes on in the run that settles its promise; a coroutine goes on in a run of its own.
    let runs_mix = config.project.language() == Some(Language::Js);
    let current = match config.dev {
        Some(_) => CurrentRun::traced(),
        None => CurrentRun::new(config.logger.has_access_log()),
    };
    let gate = Gate::new(&plan.database, &watch, &current, runs_mix);
    let opened = WorkerGeneration::open(&plan.generation);
    let opened = match opened {
        Ok(opened) => opened,
        Err(error) => return drop(ready.send(Err(error))),
    };
    let loader = Rc::new(Loader::new(&plan, watch, Rc::clone(&gate), opened, current));
    let loaded = match loader.load(&loader.generation()) {
        Ok(loaded) => loaded,
        Err(error) => return drop(ready.send(Err(error))),
    };
    let (handle, worker) = sampan_http::worker(Arc::clone(&plan.limits));
    gate.serve(handle.clone());
    loader.sessions.serve(&config);
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
        drop(spawn_local(Rc::clone(&loader).obey(orders)));
        let dispatched = Rc::clone(&dispatch);
        let handler: HandlerSlot = match (&config.dev, &config.script_files) {
            (Some(dev), _) => Rc::new(DevHandler::new(dispatched, dev)).into(),
            (None, Some(files)) => Rc::new(FileModeHandler::new(dispatched, files)).into(),
            (None, None) => dispatched.into(),
        };
        match hosted {
            Some(hosted) => worker.run_on(hosted, handler).await,
            None => worker.run(handler).await,
        }
        end_background(&dispatch, &config, &plan.ending).await;
        loader.retiring.ended().await;
        let time_max = Duration::from_millis(config.http.shutdown_millis_max);
        reload::stop(&dispatch.loaded(), time_max).await;
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

/// A generation, with what of it each worker has for itself.
pub(crate) struct WorkerGeneration {
    shared: Arc<Generation>,
    files: Rc<StaticFiles>,
    compression: Option<Rc<Compression>>,
}

impl WorkerGeneration {
    pub(crate) fn open(shared: &Arc<Generation>) -> Result<Rc<Self>, Error> {
        let config = &shared.config;
        let compression = config.compression.map(Compression::new);
        Ok(Rc::new(Self {
            shared: Arc::clone(shared),
            files: StaticFiles::open(
                config.project.root(),
                config.project.archive(),
                &config.files.storage,
                &config.db.path,
                config.static_files.clone(),
            )?,
            compression: compression.map(Rc::new),
        }))
    }
}

/// What was loaded beside the isolate that serves.
pub(crate) struct NextProject {
    generation: Rc<WorkerGeneration>,
    loaded: Rc<Loaded>,
}

/// A script that is loaded beside the project.
pub(crate) struct Beside<'a> {
    /// Gives its capabilities what they keep beside the usual.
    pub(crate) put: Box<dyn FnOnce(&Context) + 'a>,
    /// Told of its errors that nobody awaits.
    pub(crate) unawaited: OnUnawaited,
}

/// Told of an error that nobody awaits.
pub(crate) type OnUnawaited = Box<dyn Fn(Error)>;

/// Loads the project on this worker: at start, when its isolate is worn out, and at a reload.
pub(crate) struct Loader {
    /// What serves.
    generation: RefCell<Rc<WorkerGeneration>>,
    watch: Arc<Watch>,
    gate: Rc<Gate>,
    pub(crate) sessions: WorkerSessions,
    current: CurrentRun,
    ids: Rc<Ids>,
    watchdog: Watchdog,
    id: u64,
    place: WorkerPlace,
    ending: Arc<OnceLock<Instant>>,
    started_once: Arc<AtomicBool>,
    /// Requests that were given up and are ending, over all isolates.
    endings: Rc<Cell<usize>>,
    pub(crate) dispatch: RefCell<Weak<Dispatch>>,
    /// Isolates that others have replaced.
    retiring: Retiring,
    /// Whether a replacement is on its way, so that there is one at a time.
    is_replacing: Cell<bool>,
}

impl Loader {
    pub(crate) fn new(
        plan: &WorkerPlan,
        watch: Arc<Watch>,
        gate: Rc<Gate>,
        generation: Rc<WorkerGeneration>,
        current: CurrentRun,
    ) -> Self {
        let count = generation.shared.config.workers;
        Self {
            generation: RefCell::new(generation),
            watch,
            sessions: WorkerSessions::new(gate.db().clone()),
            gate,
            current,
            ids: Rc::new(Ids::new()),
            watchdog: plan.watchdog.clone(),
            id: plan.id,
            ending: Arc::clone(&plan.ending),
            started_once: Arc::clone(&plan.started_once),
            endings: Rc::default(),
            place: WorkerPlace {
                index: plan.place + 1,
                count,
            },
            dispatch: RefCell::default(),
            retiring: Retiring::default(),
            is_replacing: Cell::new(false),
        }
    }

    pub(crate) fn generation(&self) -> Rc<WorkerGeneration> {
        Rc::clone(&self.generation.borrow())
    }

    /// Loads the project.
    pub(crate) fn load(
        self: &Rc<Self>,
        generation: &WorkerGeneration,
    ) -> Result<Rc<Loaded>, Error> {
        let config = &generation.shared.config;
        let (entry, modules) = (config.project.entry(), config.modules);
        self.load_file(generation, entry, modules, &self.watch, None)
    }

    /// Loads a file of the project into an isolate: the one that is run, or a script beside it.
    pub(crate) fn load_file(
        self: &Rc<Self>,
        generation: &WorkerGeneration,
        entry: &str,
        modules: &'static [&'static Module],
        watch: &Arc<Watch>,
        beside: Option<Beside<'_>>,
    ) -> Result<Rc<Loaded>, Error> {
        let Generation { config, parts } = &*generation.shared;
        let files = &generation.files;
        // Without a file to run there are the routes of the program alone.
        let language = match (entry, Language::of(entry)) {
            ("", _) => None,
            (_, Some(language)) => Some(language),
            (_, None) => return Err(Error::new(ErrorKind::Load, "unknown language")),
        };
        let logger = Rc::new(config.logger.clone());
        let context = Context::default();
        context.put(config.logger.clone());
        context.put(config.script.clone());
        context.put(config.variables.clone());
        context.put(self.place);
        context.put(config.project.modules());
        context.put(Hooks::default());
        context.put(Rc::clone(files));
        parts.put_into(&context, &config.logger);
        config.embedding.put_into(&context);
        if let Some(keys) = &config.secret_keys {
            sealer::put(&context, Rc::new(KeySealer::new(keys.clone())));
        }
        self.gate.put_into(&context);
        if let Some(repl) = &config.repl {
            repl.put_into(&context, watch);
        }
        self.sessions.put_into(&context, config)?;
        let (is_project, mut told) = (beside.is_none(), None);
        if let Some(beside) = beside {
            (beside.put)(&context);
            told = Some(beside.unawaited);
        }
        let context = Rc::new(context);
        templates::put_store(&context, parts.templates(), Rc::clone(files), is_project);
        let gate = Rc::clone(&self.gate);
        let (report_to, printed) = (Rc::clone(&logger), Rc::clone(&logger));
        let (current, printing) = (self.current.clone(), self.current.clone());
        let setup = Setup {
            sources: config.project.sources(),
            entry: entry.to_owned(),
            modules,
            context,
            limits: config.script.clone(),
            isolation: match is_project {
                true => config.scripts.isolation,
                false => Isolation::Worker,
            },
            watch: Arc::clone(watch),
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
                if let Some(told) = &told {
                    return told(error);
                }
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
            compression: generation.compression.clone(),
            csrf: config
                .csrf
                .as_ref()
                .map(|csrf| Rc::new(csrf.clone()) as SharedGuard),
            files: Rc::clone(files),
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
            is_cut_off: Cell::new(false),
            dev: config
                .dev
                .clone()
                .map(|dev| DevErrors::new(dev, &config.project)),
        };
        self.gate.set_loading(true);
        let native: &[_] = match is_project {
            true => &config.embedding.routes,
            false => &[],
        };
        let host = config.host.as_deref();
        let loaded = Loaded::load(language, host, setup, Rc::new(control), native);
        self.gate.set_loading(false);
        let is_first = loaded.is_ok() && self.place.index == 1;
        if is_first && let Some(folder) = generation.files.missing_folder() {
            let message =
                format!("[static] folder = {folder:?}: there is no such folder in the project");
            config.logger.text(Level::Warn, message);
        }
        if let Ok(loaded) = &loaded
            && is_project
            && is_first
            && loaded.calls.is_none()
            && loaded.answers_nothing()
        {
            let entry = config.project.entry();
            let message = format!(
                "{entry} declares no routes and exports no fetch: every answer will be 404"
            );
            config.logger.text(Level::Warn, message);
        }
        loaded
    }

    /// Does what the server tells, for as long as the worker serves.
    async fn obey(self: Rc<Self>, mut orders: UnboundedReceiver<Order>) {
        let mut next = None;
        while let Some(order) = orders.recv().await {
            match order {
                Order::Load(generation, told) => {
                    let prepared = self.prepare(&generation).await;
                    let _ = told.send(prepared.as_ref().map(drop).map_err(Error::clone));
                    self.discard(std::mem::replace(&mut next, prepared.ok()))
                        .await;
                }
                Order::Swap(told) => {
                    if let Some(next) = next.take() {
                        self.swap(next);
                    }
                    let _ = told.send(());
                }
                Order::Discard => self.discard(next.take()).await,
            }
        }
    }

    /// Loads a generation beside the one that serves.
    pub(crate) async fn prepare(
        self: &Rc<Self>,
        shared: &Arc<Generation>,
    ) -> Result<NextProject, Error> {
        let generation = WorkerGeneration::open(shared)?;
        // Transactions may come without end; a project that writes while it loads is told then that the database is busy.
        let patience = Duration::from_millis(shared.config.db.transaction_millis_max);
        let _ = tokio::time::timeout(patience, self.gate.before_loading()).await;
        let loaded = self.load(&generation)?;
        self.start_hooks(&loaded).await?;
        Ok(NextProject { generation, loaded })
    }

    /// Answers with what was loaded. The isolate before goes on with its requests.
    pub(crate) fn swap(&self, next: NextProject) {
        let NextProject { generation, loaded } = next;
        let Some(dispatch) = self.dispatch.borrow().upgrade() else {
            return;
        };
        self.watchdog.rename(self.id, loaded.handler_names());
        self.sessions.serve(&generation.shared.config);
        let before = dispatch.replace(loaded);
        drop(self.generation.replace(generation));
        reload::retire(before, &self.retiring);
    }

    /// Waits until the isolates that others have replaced have ended. Each has a limit.
    pub(crate) async fn retired(&self) {
        self.retiring.ended().await;
    }

    /// Drops what was loaded and never served.
    async fn discard(&self, next: Option<NextProject>) {
        if let Some(NextProject { loaded, .. }) = next {
            let time_max = loaded.control.shutdown_time_max;
            reload::stop(&loaded, time_max).await;
        }
    }

    /// Runs the project's `on_start`.
    pub(crate) async fn start_hooks(&self, loaded: &Loaded) -> Result<(), Error> {
        let time_max = loaded.control.handler_time_max;
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
            let generation = self.generation();
            let logger = &generation.shared.config.logger;
            let loaded = match self.load(&generation) {
                Ok(loaded) => self.start_hooks(&loaded).await.map(|()| loaded),
                failed => failed,
            };
            match loaded {
                Ok(loaded) => {
                    let dispatch = self.dispatch.borrow().upgrade();
                    // A reload meanwhile has replaced it already.
                    let is_current = Rc::ptr_eq(&generation, &self.generation());
                    if let Some(dispatch) = dispatch.filter(|_| is_current) {
                        let message =
                            "an isolate that ran out of memory was replaced by a fresh one";
                        logger.text(Level::Warn, message);
                        self.watchdog.rename(self.id, loaded.handler_names());
                        drop(dispatch.replace(loaded));
                    }
                }
                Err(error) => {
                    let text = format!("replacing a worn-out isolate: {error}");
                    response_sink::log_of(logger, None, text, &error);
                }
            }
            tokio::time::sleep(Duration::from_millis(REPLACE_MILLIS_MIN)).await;
            self.is_replacing.set(false);
        }));
    }
}
