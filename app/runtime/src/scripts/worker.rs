//! The thread of one isolate: takes works from the queue, one run at a time; those that wait go on between others.

use super::calls::CallLink;
use super::errors::{cancelled, stopped};
use super::job::{Job, JobHandle, Outcome, Work, WorkerState};
use super::renewal::Renewal;
use super::request::is_framing;
use super::shared::PoolShared;
use super::submitted::SubmittedRequest;
use crate::locks::lock;
use crate::reload::retiring;
use crate::worker::loader::Loader;
use crate::worker::plan::WorkerPlan;
use crate::worker::queue;
use crate::worker::start::{LoadedWorker, STACK_BYTES, deaf_while_loading, run_here, watch_of};
use crate::worker::watchdog::ABANDONED_MAX;
use sampan_host::log::Level;
use sampan_host::{Error, ErrorKind, LocalFuture};
use sampan_http::{ClientBytes, answer_directly};
use sampan_serve::Dispatch;
use sampan_serve::Gate;
use sampan_serve::Loaded;
use sampan_serve::RunKind;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::{spawn_local, yield_now};

/// After so many works that ended at once the others of the thread have their turn: timers, commits, works that wait.
const TURN_WORKS_MAX: usize = 32;
/// The pause between two checks at the end, whether requests that were given up have ended.
const END_PAUSE: Duration = Duration::from_millis(2);

/// Starts a worker. What it gives tells whether its script has loaded.
pub(super) fn start(
    shared: &Arc<PoolShared>,
    place: usize,
) -> Result<Receiver<Result<(), Error>>, Error> {
    let (sender, ready) = sync_channel(2);
    let state = Arc::new(WorkerState {
        watch: watch_of(&shared.generations.current().config),
        running: AtomicU64::new(0),
        jobs: Mutex::default(),
        is_abandoned: AtomicBool::new(false),
    });
    let (for_thread, for_state) = (Arc::clone(shared), Arc::clone(&state));
    let thread = std::thread::Builder::new()
        .name(format!("sampan-s{place}"))
        .stack_size(STACK_BYTES)
        .spawn(move || run(for_thread, place, for_state, &sender));
    let thread = thread.map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("cannot start a thread: {error}"),
        )
    })?;
    lock(&shared.workers).push((state, thread));
    Ok(ready)
}

type Ready = SyncSender<Result<(), Error>>;

fn run(shared: Arc<PoolShared>, place: usize, state: Arc<WorkerState>, ready: &Ready) {
    let id = shared.next_worker.fetch_add(1, Ordering::Relaxed);
    let watchdog = shared.watchdog.clone();
    let given_up = Arc::clone(&state);
    let ran = run_here(async move {
        match Worker::load(shared, place, id, state, ready).await {
            Ok(worker) => {
                if ready.send(Ok(())).is_ok() {
                    worker.serve().await;
                }
            }
            Err(error) => drop(ready.send(Err(error))),
        }
    });
    if let Err(error) = ran {
        let text = format!("cannot start a runtime: {error}");
        let _ = ready.send(Err(Error::new(ErrorKind::Internal, text)));
    }
    given_up.give_all_up(&stopped());
    watchdog.remove(id);
}

type Next = queue::Next<(Work, JobHandle)>;

/// One isolate and what is around it.
struct Worker {
    shared: Arc<PoolShared>,
    place: usize,
    id: u64,
    state: Arc<WorkerState>,
    gate: Rc<Gate>,
    loader: Rc<Loader>,
    dispatch: Rc<Dispatch>,
    renewal: Renewal,
}

impl Worker {
    async fn load(
        shared: Arc<PoolShared>,
        place: usize,
        id: u64,
        state: Arc<WorkerState>,
        ready: &Ready,
    ) -> Result<Self, Error> {
        let changes = shared.generations.changes();
        let generation = shared.generations.current();
        let (for_deaf, deaf_state) = (Arc::clone(&shared), Arc::clone(&state));
        let plan = WorkerPlan {
            id,
            place,
            is_trial: false,
            generation: Arc::clone(&generation),
            unsent: ClientBytes::new(&shared.limits),
            parking: None,
            limits: Arc::clone(&shared.limits),
            database: shared.database.clone(),
            watchdog: shared.watchdog.clone(),
            ending: Arc::clone(&shared.ending),
            started_once: Arc::clone(&shared.started_once),
            health: None,
            takes_connections: false,
            lane: None,
            route_names: None,
            numbers_routes: false,
            metrics_answers: None,
            metrics: None,
            tracing: None,
            on_deaf: Box::new(move |_, name| abandon(&for_deaf, place, &deaf_state, name)),
        };
        let deaf = deaf_while_loading(&plan.generation.config, ready);
        // It gets no connections, so no request waits for another's.
        let LoadedWorker {
            gate,
            loader,
            dispatch,
            ..
        } = plan.load(Arc::clone(&state.watch), deaf).await?;
        gate.settled().await?;
        let renewal = Renewal::new(
            Arc::clone(&shared),
            Arc::clone(&state),
            Rc::clone(&loader),
            generation,
            changes,
        );
        Ok(Self {
            shared,
            place,
            id,
            state,
            gate,
            loader,
            dispatch,
            renewal,
        })
    }

    /// Works until the pool is stopped.
    async fn serve(mut self) {
        let mut turn = 0;
        loop {
            let next = match self.shared.queue.waiting.try_next() {
                Some(next) => next,
                None => {
                    turn = 0;
                    self.wait().await
                }
            };
            if self.state.is_abandoned.load(Ordering::Acquire) {
                // It came back to life after another took its place.
                if let Next::Item((work, handle)) = next {
                    handle.job().give_up(stopped());
                    drop(work);
                }
                return;
            }
            match next {
                Next::Closed => break,
                Next::Woken => self.renewal.renew().await,
                Next::Item((work, handle)) => {
                    self.renewal.look().await;
                    self.renewal.renew().await;
                    self.begin(work, &handle);
                }
            }
            turn += 1;
            if turn >= TURN_WORKS_MAX {
                turn = 0;
                yield_now().await;
            }
        }
        self.end().await;
    }

    async fn wait(&self) -> Next {
        let (queue, mut is_waiting) = (&self.shared.queue.waiting, false);
        poll_fn(|cx| {
            let next = queue.poll_next(self.place, &mut is_waiting, cx);
            // Published before it waited, so no wake comes for that.
            if next.is_pending() && self.renewal.is_behind() {
                queue.leave(self.place);
                return Poll::Ready(Next::Woken);
            }
            next
        })
        .await
    }

    /// Runs a work for the first time. One that ends at once costs no task.
    fn begin(&self, work: Work, handle: &JobHandle) {
        let job = handle.job();
        lock(&self.state.jobs).insert(job.id(), Arc::clone(job));
        let mut run = JobRun {
            future: self.future(work),
            job: Arc::clone(job),
            state: Arc::clone(&self.state),
        };
        if !job.begin(&self.state) {
            return;
        }
        if run
            .turn(&mut Context::from_waker(Waker::noop()))
            .is_pending()
        {
            drop(spawn_local(run));
        }
    }

    fn future(&self, work: Work) -> LocalFuture<Result<Outcome, Error>> {
        match work {
            Work::Handle(request) => {
                let (dispatch, limits) =
                    (Rc::clone(&self.dispatch), Arc::clone(&self.shared.limits));
                Box::pin(async move {
                    let handler = SubmittedRequest::new(dispatch);
                    let mut answer =
                        answer_directly(&handler, &request.bytes, request.peer, &limits).await;
                    answer
                        .headers
                        .retain(|(name, _)| !is_framing(name.as_bytes()));
                    let error = handler.into_failure();
                    Ok(Outcome::Answer { answer, error })
                })
            }
            Work::Call {
                function,
                arguments,
            } => {
                let (loaded, gate) = (self.dispatch.loaded(), Rc::clone(&self.gate));
                let time_max = loaded.control.handler_time_max;
                Box::pin(async move {
                    let called = call(loaded, gate, function, arguments);
                    match tokio::time::timeout(time_max, called).await {
                        Ok(returned) => returned.map(Outcome::Value),
                        Err(_) => Err(too_late(time_max)),
                    }
                })
            }
        }
    }

    /// Lets what was given up end in order, then what the script does at its end.
    async fn end(mut self) {
        self.state.give_all_up(&stopped());
        self.renewal.forget().await;
        // The tasks of those notice it in their next turn.
        yield_now().await;
        while self.dispatch.ending_requests() > 0 {
            // Each has its own limit.
            tokio::time::sleep(END_PAUSE).await;
        }
        self.loader.retired().await;
        let loaded = self.dispatch.loaded();
        let time_max = loaded.control.shutdown_time_max;
        retiring::stop(&loaded, time_max).await;
        self.shared.watchdog.remove(self.id);
    }
}

fn too_late(time_max: Duration) -> Error {
    let millis = time_max.as_millis();
    let text = format!("the function did not end within {millis} ms (handler_millis_max)");
    Error::new(ErrorKind::Timeout, text)
}

/// Calls a function of the script, until what it wrote is committed.
async fn call(
    loaded: Rc<Loaded>,
    gate: Rc<Gate>,
    function: String,
    arguments: Vec<sampan_host::Value>,
) -> Result<sampan_host::Value, Error> {
    let missing = || Error::new(ErrorKind::Internal, "nothing of the script can be called");
    let calls = loaded.context.get::<CallLink>().ok_or_else(missing)?;
    let called = Box::pin(async move { calls.call(function, arguments).await });
    let called = gate.background_of(RunKind::Function, "", called);
    let returned = called.await;
    if let Err(error) = &returned {
        if error.kind() == ErrorKind::Memory && loaded.engine.is_worn_out() {
            (loaded.control.worn_out)();
        }
        // Only the log gets the place where a cancelled call was stopped.
        if error.kind() == ErrorKind::Stopped && error.code().is_some() {
            let text = format!("a call: {error}");
            sampan_serve::log_of(&*loaded.control.logger, None, text, error);
        }
    }
    let returned = returned?;
    gate.settled().await?;
    Ok(returned)
}

/// A work that has begun.
struct JobRun {
    future: LocalFuture<Result<Outcome, Error>>,
    job: Arc<Job>,
    state: Arc<WorkerState>,
}

impl JobRun {
    /// Polls it once. Ready when it has ended, also by an error.
    fn turn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.job.is_given_up() {
            return Poll::Ready(());
        }
        self.state.running.store(self.job.id(), Ordering::Release);
        // Given up after the look above and before the store: nothing has stopped it.
        let polled = match self.job.is_given_up() {
            true => Poll::Ready(Err(cancelled())),
            false => self.future.as_mut().poll(cx),
        };
        self.state.running.store(0, Ordering::Release);
        match polled {
            Poll::Ready(outcome) => {
                self.job.settle(outcome);
                Poll::Ready(())
            }
            Poll::Pending if self.job.park(cx.waker()) => Poll::Ready(()),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Future for JobRun {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.turn(cx)
    }
}

impl Drop for JobRun {
    fn drop(&mut self) {
        lock(&self.state.jobs).remove(&self.job.id());
    }
}

/// Gives up a worker whose script cannot be stopped, and starts another in its place. Its thread ends by itself should
/// the script ever return. Runs on the watchdog's thread, which must go on watching: the new worker is awaited on
/// another.
fn abandon(shared: &Arc<PoolShared>, place: usize, state: &Arc<WorkerState>, name: &str) {
    state.is_abandoned.store(true, Ordering::Release);
    shared.generations.take_turn_from(state);
    let text = format!("{name} could not be stopped: its isolate was abandoned");
    state.give_all_up(&Error::new(ErrorKind::Stopped, text.clone()));
    let logger = shared.generations.current().config.program.logger.clone();
    logger.text(Level::Error, text);
    lock(&shared.workers).retain(|(other, _)| !Arc::ptr_eq(other, state));
    let count = shared.abandoned.fetch_add(1, Ordering::Relaxed) + 1;
    if count >= ABANDONED_MAX {
        logger.text(
            Level::Error,
            "too many isolates were abandoned: the pool takes no more work",
        );
        return shared.queue.close();
    }
    let shared = Arc::clone(shared);
    let body = move || {
        let started = start(&shared, place).and_then(|ready| {
            let gone = || Error::new(ErrorKind::Internal, "its thread ended");
            ready.recv().unwrap_or_else(|_| Err(gone()))
        });
        if let Err(error) = started {
            let text = format!("an isolate could not be replaced: {error}");
            logger.text(Level::Error, text);
            shared.queue.close();
        }
    };
    let thread = std::thread::Builder::new().name("sampan-replace".into());
    drop(thread.spawn(body));
}
