//! Loads the project on a worker: at start, for a reload, and when its isolate is worn out.

use super::order::Order;
use super::plan::WorkerPlan;
use super::watchdog::Watchdog;
use crate::app_config::AppConfig;
use crate::background::GatedRuns;
use crate::capabilities;
use crate::engine;
use crate::generation::Generation;
use crate::hooks::Hooks;
use crate::pages;
use crate::program::embedding::UnawaitedErrors;
use crate::reload::retiring::{self, Retiring};
use crate::scripts::calls::CallLink;
use sampan_db::WorkerBackend;
use sampan_env::Variables;
use sampan_host::capability;
use sampan_host::log::Log;
use sampan_host::log::{Entry, Level};
use sampan_host::metrics::known;
use sampan_host::sockets::KeptFields;
use sampan_host::trace::{Trace, Tracer};
use sampan_host::{
    Background, Console, Context, CurrentRun, Error, ErrorKind, Guard, Isolation, LocalFuture,
    Module, Outbox, RequestView, Setup, Watch, WorkerPlace,
};
use sampan_project::Language;
use sampan_project::files::own_calls::without_own_calls;
use sampan_serve::Compression;
use sampan_serve::Dispatch;
use sampan_serve::Gate;
use sampan_serve::Ids;
use sampan_serve::Serving;
use sampan_serve::WorkerMeters;
use sampan_serve::admission::Admission;
use sampan_serve::files::StaticFiles;
use sampan_serve::lane::{self, SlowLane, SourceMarks};
use sampan_serve::routing::names::RouteNames;
use sampan_serve::{Control, Loaded, StreamsEnd};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::spawn_local;

/// The shortest time between two replacements of worn-out isolates, in milliseconds.
const REPLACE_MILLIS_MIN: u64 = 1_000;

/// A generation, with the parts of it that each worker has for itself.
pub(crate) struct WorkerGeneration {
    shared: Arc<Generation>,
    files: Rc<StaticFiles>,
    compression: Option<Rc<Compression>>,
}

impl WorkerGeneration {
    pub(crate) fn open(shared: &Arc<Generation>) -> Result<Rc<Self>, Error> {
        let config = &shared.config;
        let compression = config.serving.compression.map(Compression::new);
        Ok(Rc::new(Self {
            shared: Arc::clone(shared),
            files: StaticFiles::open(
                config.base.project.root(),
                config.base.project.archive(),
                &config.storage_folder(),
                &config.database.config.path,
                config.serving.static_files.clone(),
            )
            .map_err(|error| of_section(&error, config))?,
            compression: compression.map(Rc::new),
        }))
    }
}

/// Returns the error of opening static files, with the place of the setting that it names.
fn of_section(error: &Error, config: &AppConfig) -> Error {
    let settings = config.base.sections.of(&sampan_serve::files::SECTION);
    match error.message().strip_prefix("[static] ") {
        Some(fault) => Error::new(ErrorKind::Load, settings.tell(fault)),
        None => error.clone(),
    }
}

/// A project that was loaded beside the isolate that serves.
pub(crate) struct NextProject {
    generation: Rc<WorkerGeneration>,
    loaded: Rc<Loaded>,
}

/// A script that is loaded beside the project.
pub(crate) struct Beside<'a> {
    /// Gives its capabilities what they keep beside the usual.
    pub(crate) put: Box<dyn FnOnce(&Context) + 'a>,
    /// Called with its errors that are not awaited.
    pub(crate) unawaited: OnUnawaited,
}

/// Called with an error that is not awaited.
pub(crate) type OnUnawaited = Box<dyn Fn(Error)>;

/// The worker's gate, and what stands behind it.
pub(crate) struct WorkerGate {
    pub(crate) gate: Rc<Gate>,
    pub(crate) db: WorkerBackend,
    pub(crate) outbox: Outbox,
    pub(crate) tracer: Option<Rc<Tracer>>,
}

/// Loads the project on this worker: at start, when its isolate is worn out, and at a reload.
pub(crate) struct Loader {
    /// The generation that serves.
    generation: RefCell<Rc<WorkerGeneration>>,
    watch: Arc<Watch>,
    gate: Rc<Gate>,
    db: WorkerBackend,
    outbox: Outbox,
    /// The values of capabilities that outlive an isolate.
    worker: Context,
    current: CurrentRun,
    serving: Rc<Serving>,
    ids: Rc<Ids>,
    watchdog: Watchdog,
    id: u64,
    place: WorkerPlace,
    /// True if this loader tells the log what is probably not meant so: one worker does.
    tells_warnings: bool,
    ending: Arc<OnceLock<Instant>>,
    started_once: Arc<AtomicBool>,
    lane: Option<Arc<dyn SlowLane>>,
    /// Numbers the routes of a server without a slow lane.
    route_names: Option<Arc<lane::RouteNames>>,
    /// The measurements of the worker, if there are any.
    meters: Option<Rc<WorkerMeters>>,
    /// Decides when requests begin, for all isolates of the worker.
    admission: Option<Rc<Admission>>,
    /// Begins traces, if anything is traced.
    tracer: Option<Rc<Tracer>>,
    /// Requests that were given up and are ending, over all isolates.
    endings: Rc<Cell<usize>>,
    pub(crate) dispatch: RefCell<Weak<Dispatch>>,
    /// Isolates that others have replaced.
    retiring: Retiring,
    /// True if a replacement is on its way, so that there is one at a time.
    is_replacing: Cell<bool>,
}

impl Loader {
    pub(crate) fn new(
        plan: &WorkerPlan,
        watch: Arc<Watch>,
        WorkerGate {
            gate,
            db,
            outbox,
            tracer,
        }: WorkerGate,
        generation: Rc<WorkerGeneration>,
        current: CurrentRun,
    ) -> Self {
        let count = generation.shared.config.base.workers;
        let place = WorkerPlace {
            index: plan.place + 1,
            count,
        };
        let meters = plan.metrics.as_ref();
        let meters = meters.map(|registry| WorkerMeters::new(registry, place));
        let overload = generation.shared.config.serving.overload;
        let overload = overload.filter(|_| plan.takes_connections);
        let admission = overload.map(|settings| Admission::new(settings, outbox.clone()));
        Self {
            meters,
            admission,
            tracer,
            generation: RefCell::new(generation),
            watch,
            worker: {
                let worker = Context::default();
                worker.put(db.tables());
                if let Some(registry) = &plan.metrics {
                    worker.put(Arc::clone(registry));
                }
                worker
            },
            gate,
            db,
            outbox,
            current,
            serving: Rc::default(),
            ids: Rc::new(Ids::default()),
            watchdog: plan.watchdog.clone(),
            id: plan.id,
            ending: Arc::clone(&plan.ending),
            started_once: Arc::clone(&plan.started_once),
            lane: plan.lane.clone(),
            route_names: plan.route_names.clone().filter(|_| plan.numbers_routes),
            endings: Rc::default(),
            tells_warnings: plan.place == 0 && !plan.is_trial,
            place,
            dispatch: RefCell::default(),
            retiring: Retiring::default(),
            is_replacing: Cell::new(false),
        }
    }

    /// Starts what commits groups and ends turns, for as long as the worker serves.
    pub(crate) fn serve_database(&self) {
        for task in self.db.tasks() {
            drop(spawn_local(task));
        }
        if let Some(admission) = &self.admission {
            drop(spawn_local(Rc::clone(admission).serve()));
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
        let (entry, modules) = (config.base.project.entry(), config.program.modules);
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
        let config = &generation.shared.config;
        // Without a file to run there are the routes of the program alone.
        let language = match (entry, Language::of(entry)) {
            ("", _) => None,
            (_, Some(language)) => Some(language),
            (_, None) => return Err(Error::new(ErrorKind::Load, "unknown language")),
        };
        let is_project = beside.is_none();
        let context = self.context(generation, watch, is_project)?;
        let unawaited = beside.map(|beside| {
            (beside.put)(&context);
            beside.unawaited
        });
        let gate = Rc::clone(&self.gate);
        let of_isolate = Rc::clone(&context);
        let setup = Setup {
            sources: config.base.project.sources(),
            entry: entry.to_owned(),
            modules: capabilities::over(&config.database.config, &config.base.sections, modules),
            context,
            limits: config.serving.script.clone(),
            has_streams: {
                let routes = &config.program.embedding.routes;
                routes.iter().any(|route| route.body.is_streamed)
            },
            isolation: match is_project {
                true => config.base.scripts.isolation,
                false => Isolation::Worker,
            },
            watch: Arc::clone(watch),
            spawn: Rc::new(move |future| drop(spawn_local(gate.spawned(future)))),
            console: self.console(config),
            sleep: Rc::new(|time| Box::pin(tokio::time::sleep(time))),
            report: match unawaited {
                Some(told) => told.into(),
                None => self.report(config, &of_isolate),
            },
        };
        let native: &[_] = match is_project {
            true => &config.program.embedding.routes,
            false => &[],
        };
        let control = Rc::new(self.control(generation));
        self.gate.set_loading(true);
        let loaded =
            engine::load(language, config.program.host.as_deref(), setup).and_then(|isolate| {
                of_isolate.get::<Hooks>().unwrap_or_default().close();
                capabilities::loaded(&of_isolate)?;
                Loaded::new(isolate, of_isolate, language, control, native)
            });
        self.gate.set_loading(false);
        if let Ok(loaded) = &loaded
            && self.tells_warnings
        {
            warn_of(generation, loaded, is_project);
        }
        loaded
    }

    /// Creates the context of an isolate's capabilities.
    fn context(
        self: &Rc<Self>,
        generation: &WorkerGeneration,
        watch: &Arc<Watch>,
        is_project: bool,
    ) -> Result<Rc<Context>, Error> {
        let Generation { config, state, .. } = &*generation.shared;
        let context = Rc::new(Context::default());
        context.put(config.program.logger.clone());
        context.put(Rc::new(config.program.logger.clone()) as Rc<dyn Log>);
        context.put(config.serving.script.clone());
        context.put(Variables(config.base.variables.clone()));
        if let Some(missed) = &config.program.trial {
            context.put(missed.clone());
        }
        context.put(self.place);
        context.put(config.base.project.modules());
        context.put(Hooks::default());
        context.put(RouteNames::default());
        context.put(Rc::clone(&generation.files));
        context.put(Rc::new(SourceMarks::new(config.base.project.sources())));
        self.db.put_into(&context);
        context.put(self.background(config));
        context.put(self.outbox.clone());
        context.put(self.current.clone());
        if let Some(tracer) = &self.tracer {
            context.put(Rc::clone(tracer));
        }
        context.put(Rc::clone(&self.serving));
        context.put(Arc::clone(watch));
        let kept = KeptFields::default();
        kept.add("tls", sampan_serve::kept_tls);
        context.put(kept);
        context.put(config.fetch_reach());
        pages::put_into(&context, Rc::clone(&generation.files));
        state.put_into(config, &self.worker, &context, is_project)?;
        config.program.embedding.put_into(&context);
        Ok(context)
    }

    /// Creates what runs functions that no request waits for.
    fn background(self: &Rc<Self>, config: &AppConfig) -> Rc<dyn Background> {
        let loader = Rc::downgrade(self);
        Rc::new(GatedRuns {
            gate: Rc::clone(&self.gate),
            log: Rc::new(config.program.logger.clone()),
            time_max: Duration::from_millis(config.serving.http.handler_millis_max),
            watch: Arc::clone(&self.watch),
            write_time_max: Duration::from_millis(config.database.config.transaction_millis_max),
            failed: Rc::new(move |error| {
                if error.kind() == ErrorKind::Memory
                    && let Some(loader) = loader.upgrade()
                {
                    loader.look_at_memory();
                }
            }),
        })
    }

    /// Replaces the isolate if it has no memory left.
    fn look_at_memory(self: Rc<Self>) {
        let dispatch = self.dispatch.borrow().upgrade();
        if dispatch.is_some_and(|dispatch| dispatch.loaded().engine.is_worn_out()) {
            self.replace_soon();
        }
    }

    /// Returns the work of a capability on this thread, beside requests.
    pub(crate) fn work_beside(&self, beside: &capability::Beside) -> LocalFuture<()> {
        let generation = self.generation();
        let Generation { config, state, .. } = &*generation.shared;
        let context = self.dispatch.borrow().upgrade();
        let context = context.map(|dispatch| Rc::clone(&dispatch.loaded().context));
        state.work_beside(config, &self.worker, &context.unwrap_or_default(), beside)
    }

    /// Takes note that the worker answers with this isolate from now on.
    pub(crate) fn serve(&self, generation: &WorkerGeneration, loaded: &Loaded) {
        let Generation { config, state, .. } = &*generation.shared;
        state.serve(config, &self.worker, &loaded.context);
    }

    /// Writes what `console` is told into the log.
    fn console(&self, config: &AppConfig) -> Console {
        let (logger, current) = (config.program.logger.clone(), self.current.clone());
        Rc::new(move |level, text| {
            let request = current.request();
            let entry = Entry {
                id: request.as_deref().map(RequestView::id),
                request: request
                    .as_deref()
                    .map(|request| (request.method(), request.path())),
                trace: request.as_deref().and_then(Trace::ids_of),
                ..Entry::text(text)
            };
            logger.write(level.parse().unwrap_or(Level::Info), &entry);
        })
    }

    /// Writes errors that are not awaited into the log, and tells a program that wants to know of them.
    fn report(&self, config: &AppConfig, context: &Rc<Context>) -> Rc<dyn Fn(Error)> {
        let (logger, current) = (config.program.logger.clone(), self.current.clone());
        let unawaited = context.get::<UnawaitedErrors>();
        Rc::new(move |error| {
            let error = without_own_calls(error);
            if let Some(unawaited) = &unawaited {
                unawaited.note();
            }
            let request = current.request();
            let text = format!("in the background: {error}");
            sampan_serve::log_of(&logger, request.as_deref(), text, &error);
        })
    }

    /// Creates the control for the requests of an isolate.
    fn control(self: &Rc<Self>, generation: &WorkerGeneration) -> Control {
        let config = &generation.shared.config;
        let loader = Rc::downgrade(self);
        Control {
            logger: Rc::new(config.program.logger.clone()),
            gate: Rc::clone(&self.gate),
            trusted: config.serving.trusted_proxies.as_slice().into(),
            ids: Rc::clone(&self.ids),
            compression: generation.compression.clone(),
            csrf: config
                .serving
                .csrf
                .as_ref()
                .map(|csrf| Rc::new(csrf.clone()) as Rc<dyn Guard>),
            files: Rc::clone(&generation.files),
            meters: self.meters.clone(),
            tracer: self.tracer.clone(),
            current: self.current.clone(),
            worn_out: Box::new(move || {
                if let Some(loader) = loader.upgrade() {
                    loader.replace_soon();
                }
            }),
            ending: Arc::clone(&self.ending),
            shutdown_time_max: Duration::from_millis(config.serving.http.shutdown_millis_max),
            handler_time_max: Duration::from_millis(config.serving.http.handler_millis_max),
            cleanup_time_max: Duration::from_millis(config.serving.script.cleanup_millis_max),
            endings: Rc::clone(&self.endings),
            streams: StreamsEnd::default(),
            lane: self.lane.clone(),
            route_names: self.route_names.clone(),
            admission: self.admission.clone(),
            dev: {
                let development = config.program.development.clone();
                development.map(|development| development.error_pages(&config.base.project))
            },
        }
    }

    /// Does what the server tells, for as long as the worker serves.
    pub(crate) async fn obey(self: Rc<Self>, mut orders: UnboundedReceiver<Order>) {
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
                Order::Renew(generation) => {
                    self.renew(&generation, "a thread beside requests").await;
                }
            }
        }
    }

    /// Loads a generation and goes on with it. Where it does not load here, the log and the reload are told, and the
    /// isolate goes on as it was. `what` names it.
    pub(crate) async fn renew(self: &Rc<Self>, generation: &Arc<Generation>, what: &str) {
        let fault = match self.prepare(generation).await {
            Ok(next) => {
                self.swap(next);
                None
            }
            Err(error) => {
                let text = format!("{what} goes on as it was: {error}");
                let logger = &generation.config.program.logger;
                sampan_serve::log_of(logger, None, text.clone(), &error);
                Some(text)
            }
        };
        generation.renewals.note(fault);
    }

    /// Waits until no transaction of this worker is open, but not for ever: they may come without end. A project that
    /// writes while it loads is told then that the database is busy.
    async fn without_transactions(&self, config: &AppConfig) {
        let patience = Duration::from_millis(config.database.config.transaction_millis_max);
        let _ = tokio::time::timeout(patience, self.gate.before_loading()).await;
    }

    /// Loads a generation beside the one that serves.
    pub(crate) async fn prepare(
        self: &Rc<Self>,
        shared: &Arc<Generation>,
    ) -> Result<NextProject, Error> {
        let generation = WorkerGeneration::open(shared)?;
        self.without_transactions(&shared.config).await;
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
        self.serve(&generation, &loaded);
        let before = dispatch.replace(loaded);
        drop(self.generation.replace(generation));
        retiring::retire(before, &self.retiring);
    }

    /// Waits until the isolates that others have replaced have ended. Each has a limit.
    pub(crate) async fn retired(&self) {
        self.retiring.ended().await;
    }

    /// Drops what was loaded and never served.
    pub(crate) async fn discard(&self, next: Option<NextProject>) {
        if let Some(NextProject { loaded, .. }) = next {
            let time_max = loaded.control.shutdown_time_max;
            retiring::stop(&loaded, time_max).await;
        }
    }

    /// Runs the project's `on_start`.
    pub(crate) async fn start_hooks(&self, loaded: &Loaded) -> Result<(), Error> {
        let time_max = loaded.control.handler_time_max;
        self.gate.set_loading(true);
        let hooks = loaded.context.get::<Hooks>().unwrap_or_default();
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
            let before = self.generation();
            self.without_transactions(&before.shared.config).await;
            let generation = self.generation();
            let logger = &generation.shared.config.program.logger;
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
                        if let Some(meters) = &self.meters {
                            meters.count(&known::ISOLATES_REPLACED, "");
                        }
                        self.watchdog.rename(self.id, loaded.handler_names());
                        self.serve(&generation, &loaded);
                        retiring::retire(dispatch.replace(loaded), &self.retiring);
                    } else {
                        retiring::stop(&loaded, loaded.control.shutdown_time_max).await;
                    }
                }
                Err(error) => {
                    let text = format!("replacing a worn-out isolate: {error}");
                    sampan_serve::log_of(logger, None, text, &error);
                }
            }
            tokio::time::sleep(Duration::from_millis(REPLACE_MILLIS_MIN)).await;
            self.is_replacing.set(false);
        }));
    }
}

/// Warns in the log of things in a project that are probably mistakes.
fn warn_of(generation: &WorkerGeneration, loaded: &Loaded, is_project: bool) {
    let config = &generation.shared.config;
    if let Some(folder) = generation.files.missing_folder() {
        let text = format!("folder = {folder:?}: there is no such folder in the project");
        let text = config
            .base
            .sections
            .of(&sampan_serve::files::SECTION)
            .tell(&text);
        config.program.logger.text(Level::Warn, text);
    }
    if let Some(folder) = generation.files.folder_with_database() {
        let text = format!(
            "the database is in {folder}/, whose files are served: it is not sent, but keep it elsewhere ([db] path)"
        );
        config.program.logger.text(Level::Warn, text);
    }
    if is_project && loaded.context.get::<CallLink>().is_none() && loaded.answers_nothing() {
        let entry = config.base.project.entry();
        let text = match entry {
            "" => "there are no routes and no project: every answer will be 404".to_owned(),
            entry => {
                format!("{entry} declares no routes and exports no fetch: every answer will be 404")
            }
        };
        config.program.logger.text(Level::Warn, text);
    }
}
