//! Makes a worker from its plan, on the thread that it is to run on.

use super::loader::{Loader, WorkerGate, WorkerGeneration};
use super::plan::WorkerPlan;
use super::watchdog::Abandon;
use crate::app_config::AppConfig;
use crate::crash::running;
use sampan_host::trace::Tracer;
use sampan_host::{CurrentRun, Error, ErrorKind, Outbox, Watch};
use sampan_http::WorkerHandle;
use sampan_project::Language;
use sampan_serve::{Dispatch, Gate};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use tokio::task::LocalSet;

/// The stack of a worker's thread, in bytes: what JavaScript needs, which recurses natively; Lua needs less.
pub(crate) const STACK_BYTES: usize = sampan_js::STACK_BYTES;

/// A worker whose project is loaded and has started.
pub(crate) struct LoadedWorker {
    pub(crate) gate: Rc<Gate>,
    pub(crate) loader: Rc<Loader>,
    pub(crate) dispatch: Rc<Dispatch>,
    /// The handle by which other threads give it sockets, if it takes any.
    pub(crate) handle: WorkerHandle,
    /// Serves those sockets.
    pub(crate) sockets: sampan_http::Worker,
}

impl WorkerPlan {
    /// Loads the project on this thread and runs its `on_start`. From now on the watchdog watches it, until it is
    /// removed there.
    ///
    /// # Errors
    /// The project does not load or start.
    pub(crate) async fn load(
        self,
        watch: Arc<Watch>,
        deaf_while_loading: Abandon,
    ) -> Result<LoadedWorker, Error> {
        let (gate, loader) = self.open(watch, deaf_while_loading)?;
        let loaded = loader.load(&loader.generation())?;
        let (limits, unsent) = (Arc::clone(&self.limits), Arc::clone(&self.unsent));
        let (handle, sockets) = sampan_http::worker_sharing(limits, unsent, self.parking.clone());
        let sockets = sockets.with_h2c(self.generation.config.serving.takes_h2c);
        gate.serve(handle.clone());
        loader.serve_database();
        loader.serve(&loader.generation(), &loaded);
        if self.generation.config.program.trial.is_none() {
            loader.start_hooks(&loaded).await?;
        }
        let (names, abandoned, on_deaf) = (loaded.handler_names(), handle.clone(), self.on_deaf);
        let on_deaf = move |name: &str| on_deaf(abandoned, name);
        self.watchdog.loaded(self.id, names, Box::new(on_deaf));
        let dispatch = Rc::new(Dispatch::new(loaded));
        loader.dispatch.replace(Rc::downgrade(&dispatch));
        Ok(LoadedWorker {
            gate,
            loader,
            dispatch,
            handle,
            sockets,
        })
    }

    /// Loads the project on this thread, to see that it loads. Its `on_start` does not run.
    async fn try_load(self, watch: Arc<Watch>, deaf_while_loading: Abandon) -> Result<(), Error> {
        let (gate, loader) = self.open(watch, deaf_while_loading)?;
        gate.before_loading().await;
        loader.load(&loader.generation()).map(drop)
    }

    /// Makes what loads the project on this thread.
    fn open(
        &self,
        watch: Arc<Watch>,
        deaf_while_loading: Abandon,
    ) -> Result<(Rc<Gate>, Rc<Loader>), Error> {
        let config = &self.generation.config;
        self.watchdog
            .add(self.id, Arc::clone(&watch), deaf_while_loading);
        if let Some(names) = &self.route_names {
            running::set_worker(&watch, names);
        }
        // A JavaScript handler goes on in the run that settles its promise; a coroutine goes on in a run of its own.
        let runs_mix = config.base.project.language() == Some(Language::Js);
        let current = match config.program.development {
            Some(_) => CurrentRun::traced(),
            None => {
                let has_log = config.program.logger.has_access_log();
                CurrentRun::new(has_log || self.metrics.is_some())
            }
        };
        let tracer = self
            .tracing
            .clone()
            .map(|tracing| Rc::new(Tracer::new(tracing)));
        if tracer.is_some() {
            let is_server = config.database.config.is_postgres();
            current.record_spans(if is_server { "postgresql" } else { "sqlite" });
        }
        let outbox = Outbox::default();
        let db = self.database.worker(outbox.clone(), Arc::clone(&watch));
        db.measure(current.clone());
        if let Some(registry) = &self.metrics {
            self.watchdog.measure(self.id, self.place + 1);
            db.measure_commits(registry);
        }
        let gate = Gate::new(
            db.gate(),
            outbox.clone(),
            Arc::clone(&watch),
            current.clone(),
            runs_mix,
        );
        let behind = WorkerGate {
            gate: Rc::clone(&gate),
            db,
            outbox,
            tracer,
        };
        let opened = WorkerGeneration::open(&self.generation)?;
        let loader = Rc::new(Loader::new(self, watch, behind, opened, current));
        Ok((gate, loader))
    }
}

/// Loads a generation on a thread of its own and drops it again. A top level that fails, or that does not end, is found
/// there, while the workers answer.
///
/// # Errors
/// The project does not load.
pub(crate) fn try_out(plan: WorkerPlan) -> Result<(), Error> {
    let (sender, ready) = sync_channel(2);
    let config = Arc::clone(&plan.generation.config);
    let deaf = deaf_while_loading(&config, &sender);
    let body = move || {
        let (id, watchdog) = (plan.id, plan.watchdog.clone());
        let tried = async {
            let _ = sender.send(plan.try_load(watch_of(&config), deaf).await);
        };
        if let Err(error) = run_here(tried) {
            let text = format!("cannot start a runtime: {error}");
            let _ = sender.send(Err(Error::new(ErrorKind::Internal, text)));
        }
        watchdog.remove(id);
    };
    let thread = std::thread::Builder::new().name("sampan-trial".into());
    let started = thread.stack_size(STACK_BYTES).spawn(body);
    let fault = |text: String| Error::new(ErrorKind::Internal, text);
    started.map_err(|error| fault(format!("cannot start a thread: {error}")))?;
    let gone = |_| fault("the thread that tried the project ended".to_owned());
    ready.recv().map_err(gone)?
}

/// The stopwatch of a worker that is about to start.
pub(crate) fn watch_of(config: &AppConfig) -> Arc<Watch> {
    Arc::new(match config.program.is_profiled {
        true => Watch::sampled(),
        false => Watch::default(),
    })
}

/// Tells who waits for a worker to load that its script cannot be stopped.
pub(crate) fn deaf_while_loading<T: Send + 'static>(
    config: &AppConfig,
    ready: &SyncSender<Result<T, Error>>,
) -> Abandon {
    let (ready, millis) = (ready.clone(), config.serving.script.script_millis_max);
    Box::new(move |name| {
        let text = format!("{name} did not end within {millis} ms and could not be stopped");
        let _ = ready.send(Err(Error::new(ErrorKind::Load, text)));
    })
}

/// Runs a worker on this thread to its end, in a runtime of its own.
///
/// # Errors
/// The system gives nothing to wait with.
pub(crate) fn run_here(worker: impl Future<Output = ()>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    LocalSet::new().block_on(&runtime, worker);
    Ok(())
}
