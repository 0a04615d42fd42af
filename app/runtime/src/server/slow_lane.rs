//! The threads of the slow lane. They start when a route turns out to be slow: at start, at a reload, or as it is
//! measured. Another thread starts them then, and writes down what was learned.

use super::crew::ready;
use super::shared::{LaneCrew, ServerShared};
use super::worker::{self as server_worker, SideWork, Starting};
use crate::lane::isolate::{IsolateState, LaneWork};
use crate::lane::learned;
use crate::lane::limits::WRITE_PAUSE;
use crate::lane::shared::{Lane, LaneChange};
use crate::locks::lock;
use crate::worker::plan::OnDeaf;
use sampan_host::log::Level;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

/// An isolate that is starting.
struct StartingIsolate {
    id: u64,
    state: Arc<IsolateState>,
    starting: Starting,
}

impl ServerShared {
    /// Starts the isolates, if any route needs them and they are not there. Until then requests wait for them.
    ///
    /// # Errors
    /// The project does not load there, or the system has no thread left.
    pub(crate) fn start_slow_lane(self: &Arc<Self>) -> Result<(), String> {
        let Some(lane) = &self.lane else {
            return Ok(());
        };
        if !lane.routes.has_slow() || lock(&self.lane_crew).has_started {
            return Ok(());
        }
        let started = self.start_isolates(lane);
        if started.is_err() {
            lane.fail();
        }
        started
    }

    fn start_isolates(self: &Arc<Self>, lane: &Arc<Lane>) -> Result<(), String> {
        // All of them begin to load before one is waited for.
        let starting: Vec<_> = (0..lane.isolates)
            .map(|place| self.start_isolate(lane, place))
            .collect();
        let added: Vec<Result<_, String>> = starting
            .into_iter()
            .map(|starting| self.add_isolate(starting?))
            .collect();
        if added.iter().any(Result::is_err) {
            self.end_started(lane, added.iter().flatten());
        }
        added.into_iter().collect::<Result<Vec<_>, _>>()?;
        lock(&self.lane_crew).has_started = true;
        let count = lane.isolates;
        let plural = if count == 1 { "" } else { "s" };
        let text = format!("slow routes run in {count} isolate{plural} of their own from now on");
        self.config.program.logger.text(Level::Info, text);
        lane.open();
        Ok(())
    }

    /// Ends the isolates that have started, where others have not: the next attempt starts all of them. Their threads
    /// end by themselves, once their requests have.
    fn end_started<'s>(&self, lane: &Lane, states: impl Iterator<Item = &'s Arc<IsolateState>>) {
        states.for_each(|state| state.end());
        for member in std::mem::take(&mut lock(&self.lane_crew).members) {
            member.handle.shutdown();
        }
        lane.queue.wake_all();
    }

    /// Tells the log that there are no isolates for slow routes. Returns its text.
    pub(crate) fn tell_of_slow_lane(&self, fault: &str) -> String {
        let text = format!("slow routes go on among the others: {fault}");
        self.config.program.logger.text(Level::Error, &text);
        text
    }

    /// Returns the numbers of routes that moved to the lane, and back, if there is one.
    pub(crate) fn lane_moves(&self) -> Option<(u64, u64)> {
        let lane = self.lane.as_ref()?;
        Some(lane.routes.moves().counts())
    }

    fn start_isolate(
        self: &Arc<Self>,
        lane: &Arc<Lane>,
        place: usize,
    ) -> Result<StartingIsolate, String> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let state: Arc<IsolateState> = Arc::default();
        let (shared, of_deaf) = (Arc::clone(self), Arc::clone(&state));
        let on_deaf: OnDeaf = Box::new(move |handle, name| {
            shared.abandon_isolate(id, place, &of_deaf, name);
            handle.shutdown();
        });
        let generation = self.generation();
        let beside = generation.state.beside(&generation.config);
        // Behind those that take connections, and those beside requests.
        let number = self.config.base.workers + beside.map_or(0, |beside| beside.isolates) + place;
        let plan = self.plan(id, number, Arc::clone(&generation), on_deaf);
        let shared = Arc::clone(self);
        let work = LaneWork {
            lane: Arc::clone(lane),
            state: Arc::clone(&state),
            place,
            serving: Box::new(move || shared.generation()),
            loaded: generation,
            loading: None,
        };
        let started = server_worker::start(plan, Some(SideWork::Lane(work)));
        let starting = started.map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(StartingIsolate {
            id,
            state,
            starting,
        })
    }

    /// Waits for an isolate that starts.
    fn add_isolate(&self, isolate: StartingIsolate) -> Result<Arc<IsolateState>, String> {
        let member = ready(isolate.id, isolate.starting);
        let member = member.map_err(|error| self.config.base.project.load_fault(&error))?;
        let mut crew = lock(&self.lane_crew);
        if self.is_ending.load(Ordering::SeqCst) {
            member.handle.shutdown();
        }
        crew.members.push(member);
        Ok(isolate.state)
    }

    /// Gives up an isolate whose script cannot be stopped, and starts another in its place.
    fn abandon_isolate(
        self: &Arc<Self>,
        id: u64,
        place: usize,
        state: &Arc<IsolateState>,
        name: &str,
    ) {
        state.abandon();
        lock(&self.lane_crew)
            .members
            .retain(|member| member.id != id);
        let what = "an isolate of slow routes".to_owned();
        self.replace_deaf(what, name, move |shared| {
            let Some(lane) = &shared.lane else {
                return Ok(());
            };
            shared.add_isolate(shared.start_isolate(lane, place)?)?;
            let text = "a fresh isolate takes the place of one for slow routes";
            shared.config.program.logger.text(Level::Warn, text);
            Ok(())
        });
    }

    /// Has idle isolates load the generation that the server serves now. The others do before their next request.
    /// Returns their number.
    pub(crate) fn renew_slow_lane(&self) -> usize {
        let Some(lane) = &self.lane else {
            return 0;
        };
        lane.queue.wake_all();
        lock(&self.lane_crew).members.len()
    }

    /// Starts the thread that looks after the lane.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(super) fn keep_slow_lane(
        self: &Arc<Self>,
        changes: Receiver<LaneChange>,
    ) -> Result<(), String> {
        let shared = Arc::clone(self);
        let thread = std::thread::Builder::new()
            .name("sampan-lane".into())
            .stack_size(256 * 1024);
        let started = thread.spawn(move || shared.look_after_lane(&changes));
        let keeper = started.map_err(|error| format!("cannot start a thread: {error}"))?;
        lock(&self.lane_crew).keeper = Some(keeper);
        Ok(())
    }

    fn look_after_lane(self: &Arc<Self>, changes: &Receiver<LaneChange>) {
        let Some(lane) = &self.lane else {
            return;
        };
        let file = learned::file_of(&self.config);
        let mut written = Instant::now().checked_sub(WRITE_PAUSE);
        let mut has_changed = false;
        loop {
            let change = match has_changed {
                false => changes.recv().map_err(|_| RecvTimeoutError::Disconnected),
                true => {
                    let passed = written.map_or(WRITE_PAUSE, |written| written.elapsed());
                    changes.recv_timeout(WRITE_PAUSE.saturating_sub(passed))
                }
            };
            match change {
                Ok(LaneChange::Moved) => {
                    has_changed = true;
                    self.start_measured();
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(LaneChange::End) | Err(RecvTimeoutError::Disconnected) => {
                    if has_changed {
                        self.write_learned(lane, file.as_deref());
                    }
                    return;
                }
            }
            self.write_learned(lane, file.as_deref());
            written = Some(Instant::now());
            has_changed = false;
        }
    }

    /// Starts the isolates for a route that was measured slow.
    fn start_measured(self: &Arc<Self>) {
        if lock(&self.lane_crew).has_started {
            return;
        }
        let _turn = self.turn();
        if self.is_ending.load(Ordering::SeqCst) {
            // The workers wait for their connections, which must not wait for isolates.
            if let Some(lane) = &self.lane {
                lane.fail();
            }
            return;
        }
        // Isolates that start are ended with a server that ends.
        if let Err(fault) = self.start_slow_lane()
            && !self.is_ending.load(Ordering::SeqCst)
        {
            self.tell_of_slow_lane(&fault);
        }
    }

    fn write_learned(&self, lane: &Lane, file: Option<&Path>) {
        let Some(file) = file else {
            return;
        };
        if let Err(error) = learned::write(file, &lane.routes.learned()) {
            let text = format!("{}: slow routes are not kept: {error}", file.display());
            self.config.program.logger.text(Level::Warn, text);
        }
    }

    /// Ends the threads, and waits for them. No connection may be left that waits for them. Returns false if some had
    /// to be left behind.
    pub(super) fn end_slow_lane(&self) -> bool {
        let Some(lane) = &self.lane else {
            return true;
        };
        lane.tell(LaneChange::End);
        drop(lane.queue.close());
        let LaneCrew {
            members, keeper, ..
        } = std::mem::take(&mut *lock(&self.lane_crew));
        for member in &members {
            member.handle.shutdown();
        }
        self.await_ends(members) && keeper.is_none_or(|keeper| keeper.join().is_ok())
    }
}
