//! The workers of a server: how they start and end, and how one takes the place of another.

use super::events::ServerEvent;
use super::shared::{CrewMember, ServerShared};
use super::worker::{self as server_worker, Starting, WorkerThread};
use crate::generation::Generation;
use crate::locks::lock;
use crate::worker::plan::{OnDeaf, WorkerPlan};
use crate::worker::start::try_out;
use crate::worker::watchdog::ABANDONED_MAX;
use sampan_host::Error;
use sampan_host::log::Level;
use sampan_http::WorkerHandle;
use sampan_serve::lane::SlowLane;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The time that a shutdown waits for the workers' threads beyond the time that their requests get, in milliseconds.
const JOIN_MILLIS_MAX: u64 = 500;

/// The longest time that an abandoned worker may keep the write connection.
const LEASE_PATIENCE: Duration = Duration::from_secs(5);

/// An isolate that could not be replaced is tried again after the pause, so often in all.
const REPLACE_ATTEMPTS: u32 = 5;
const REPLACE_PAUSE: Duration = Duration::from_secs(1);

/// Waits for a thread, but not for ever.
fn ends_by(thread: WorkerThread, deadline: Instant) -> bool {
    while !thread.is_finished() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    thread.join()
}

impl ServerShared {
    /// Starts all workers: one alone first, so that a fault of the project is told once, then the others together.
    pub(super) fn start_workers(self: &Arc<Self>) -> Result<(), String> {
        for places in [0..1, 1..self.config.base.workers] {
            let mut starting = Vec::new();
            for place in places {
                starting.push(self.start_worker(place)?);
            }
            for (id, worker) in starting {
                let member = ready(id, worker)
                    .map_err(|error| self.config.base.project.load_fault(&error))?;
                self.crew().push(member);
            }
        }
        Ok(())
    }

    /// Ends the workers that serve, and waits for them. False if some had to be left behind.
    pub(super) fn end_workers(&self) -> bool {
        let crew = std::mem::take(&mut *self.crew());
        for member in &crew {
            member.handle.shutdown();
        }
        self.await_ends(crew)
    }

    /// Waits for threads that are to end, a little longer than requests may take. False if some had to be left behind.
    pub(super) fn await_ends(&self, members: Vec<CrewMember>) -> bool {
        let patience = Duration::from_millis(self.limits.shutdown_millis_max + JOIN_MILLIS_MAX);
        let deadline = Instant::now() + patience;
        // Each gets its chance, also behind one that does not end.
        let ended = members
            .into_iter()
            .map(|member| ends_by(member.thread, deadline));
        ended.filter(|has_ended| !has_ended).count() == 0
    }

    /// Loads a generation on a thread of its own, to see that it loads.
    pub(crate) fn try_out(&self, generation: &Arc<Generation>) -> Result<(), Error> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let generation = Arc::clone(generation);
        try_out(WorkerPlan {
            is_trial: true,
            // It answers no request, and what is noted of it would stay as long as the process.
            route_names: None,
            metrics: None,
            tracing: None,
            ..self.plan(id, 0, generation, Box::new(|_, _| ()))
        })
    }

    pub(super) fn plan(
        &self,
        id: u64,
        place: usize,
        generation: Arc<Generation>,
        on_deaf: OnDeaf,
    ) -> WorkerPlan {
        WorkerPlan {
            id,
            place,
            is_trial: false,
            generation,
            limits: Arc::clone(&self.limits),
            unsent: Arc::clone(&self.unsent),
            parking: None,
            database: self.database.clone(),
            watchdog: self.watchdog.clone(),
            ending: Arc::clone(&self.ending),
            started_once: Arc::clone(&self.started_once),
            takes_connections: false,
            lane: None,
            route_names: Some(Arc::clone(&self.route_names)),
            numbers_routes: self.lane.is_none(),
            health: self.health_answers(),
            metrics_answers: self.metrics_answers(),
            metrics: self.metrics.clone(),
            tracing: self.tracing.clone(),
            on_deaf,
        }
    }

    fn start_worker(self: &Arc<Self>, place: usize) -> Result<(u64, Starting), String> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(self);
        let on_deaf: OnDeaf =
            Box::new(move |handle, name| shared.abandon(id, place, &handle, name));
        let lane = self.lane.clone().map(|lane| lane as Arc<dyn SlowLane>);
        let plan = WorkerPlan {
            takes_connections: true,
            lane,
            parking: self.parking.clone(),
            ..self.plan(id, place, self.generation(), on_deaf)
        };
        let starting = server_worker::start(plan, None)
            .map_err(|error| format!("cannot start a worker: {error}"))?;
        Ok((id, starting))
    }

    /// Gives up a worker whose script cannot be stopped, and starts another in its place. Its thread ends by itself
    /// should the script ever return.
    fn abandon(self: &Arc<Self>, id: u64, place: usize, handle: &WorkerHandle, name: &str) {
        handle.abandon();
        handle.shutdown();
        self.crew().retain(|member| member.id != id);
        // As in app.worker.
        let what = format!("worker {}", place + 1);
        self.replace_deaf(what, name, move |shared| shared.fill_place(place));
    }

    /// Tells that an isolate is abandoned because it is deaf to its stop in the function of this name, and fills its
    /// place by `fill`. After too many the server gives up. Runs on the watchdog's thread, which must go on watching:
    /// the new isolate is awaited on another.
    pub(super) fn replace_deaf(
        self: &Arc<Self>,
        what: String,
        name: &str,
        fill: impl Fn(&Arc<Self>) -> Result<(), String> + Send + 'static,
    ) {
        let count = self.abandoned.fetch_add(1, Ordering::Relaxed) + 1;
        let message = format!(
            "{what} is deaf to its stop in {name}: abandoned ({count} of {ABANDONED_MAX} before the server gives up)"
        );
        self.config.program.logger.text(Level::Error, message);
        let shared = Arc::clone(self);
        let body = move || {
            if shared.replace(&what, || fill(&shared)) {
                shared.look_after_lease();
            } else {
                let _ = shared.events.send(ServerEvent::GiveUp);
            }
        };
        let thread = std::thread::Builder::new().name("sampan-replace".into());
        if count >= ABANDONED_MAX || thread.spawn(body).is_err() {
            // There is no receiver if the server is being shut down anyway.
            let _ = self.events.send(ServerEvent::GiveUp);
        }
    }

    /// An abandoned worker may have taken the write connection with it. Should it not come back, nothing can be written
    /// in this process any more.
    fn look_after_lease(&self) {
        let before = self.database.lease();
        if before.is_none() {
            return;
        }
        std::thread::sleep(LEASE_PATIENCE);
        if self.database.lease() == before && !self.is_ending.load(Ordering::SeqCst) {
            let message = "the abandoned worker keeps the write connection: the server gives up";
            self.config.program.logger.text(Level::Error, message);
            let _ = self.events.send(ServerEvent::GiveUp);
        }
    }

    /// Fills a place that has become free, by `fill`. A machine that is busy enough to make an isolate deaf may also
    /// load the project too slowly, so it tries again. False if each attempt failed.
    fn replace(&self, name: &str, fill: impl Fn() -> Result<(), String>) -> bool {
        for attempt in 1..=REPLACE_ATTEMPTS {
            let Err(fault) = fill() else {
                return true;
            };
            if self.is_ending.load(Ordering::SeqCst) {
                return true;
            }
            let message = format!(
                "{name} could not be replaced (attempt {attempt} of {REPLACE_ATTEMPTS}): {fault}"
            );
            self.config.program.logger.text(Level::Error, message);
            std::thread::sleep(REPLACE_PAUSE);
        }
        false
    }

    /// Starts a worker in a place that has become free.
    fn fill_place(self: &Arc<Self>, place: usize) -> Result<(), String> {
        let _turn = self.turn();
        let (id, starting) = self.start_worker(place)?;
        let member =
            ready(id, starting).map_err(|error| self.config.base.project.load_fault(&error))?;
        let mut crew = self.crew();
        if self.is_ending.load(Ordering::SeqCst) {
            member.handle.shutdown();
            return Ok(());
        }
        if let Some(workers) = &*lock(&self.workers) {
            workers.replace(place, member.handle.clone());
        }
        let message = format!("a fresh worker serves in place {}", place + 1);
        self.config.program.logger.text(Level::Warn, message);
        crew.push(member);
        Ok(())
    }
}

/// Waits for a worker that starts.
pub(super) fn ready(id: u64, starting: Starting) -> Result<CrewMember, Error> {
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
