//! The carrier of a process: its queue, and the thread that has the connection.

use super::link::Link;
use super::queue::{Item, Queue, WaitingPublication, full};
use crate::database::ReportLine;
use sampan_host::carrier::{Arrivals, Carrier, OwnMember, Publication, Published};
use sampan_host::log::Level;
use sampan_host::{Error, ErrorKind};
use sampan_postgres::Postgres;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};

/// The longest that a worker waits for the first connection before it serves.
const BEGIN_TIME_MAX: Duration = Duration::from_secs(10);
/// The longest that the end of the process waits for the thread.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(3);

/// Carries the messages of topics between the processes that share a database.
pub(crate) struct PostgresCarrier {
    pub(super) server: Arc<Postgres>,
    pub(super) report: ReportLine,
    state: Mutex<State>,
    /// Notified when the phase changes.
    changed: Condvar,
    /// Rings the thread: something was added, a notification has come, or it is to end.
    pub(super) bell: Arc<Notify>,
    /// The number of items that have ended.
    ended: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    queue: Queue,
    phase: Phase,
    thread: Option<JoinHandle<()>>,
}

/// The phases in the life of the thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    /// The thread makes the first connection.
    Begins,
    Carries,
    /// The thread is to end.
    Closes,
    Ended,
}

impl PostgresCarrier {
    pub(crate) fn new(server: Arc<Postgres>, report: ReportLine) -> Self {
        Self {
            server,
            report,
            state: Mutex::default(),
            changed: Condvar::new(),
            bell: Arc::default(),
            ended: watch::Sender::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, item: Item) {
        let mut state = self.state();
        let is_over = state.phase == Phase::Ended;
        let refused = match item {
            Item::Publish(waiting) if is_over => Some(waiting),
            item => state.queue.push(item),
        };
        drop(state);
        if let Some(waiting) = refused {
            return waiting.end(Err(if is_over { ending() } else { full() }));
        }
        self.bell.notify_one();
    }

    /// Waits until everything that was added before is written, or given up.
    pub(crate) async fn flushed(&self) {
        let added = self.state().queue.added;
        let mut ended = self.ended.subscribe();
        let _ = ended.wait_for(|ended| *ended >= added).await;
    }

    /// Ends the thread. The members of this process leave.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        let Some(thread) = state.thread.take() else {
            return;
        };
        if state.phase != Phase::Ended {
            state.phase = Phase::Closes;
        }
        self.bell.notify_one();
        let is_ending = |state: &mut State| state.phase != Phase::Ended;
        let waited = self
            .changed
            .wait_timeout_while(state, CLOSE_TIME_MAX, is_ending);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let has_ended = state.phase == Phase::Ended;
        drop(state);
        // A server that does not answer keeps no process from its end.
        if has_ended {
            let _ = thread.join();
        }
    }

    /// Reports whether the thread is to end.
    pub(super) fn is_closing(&self) -> bool {
        self.state().phase == Phase::Closes
    }

    /// Takes note that messages come, or that they cannot for now.
    pub(super) fn has_begun(&self) {
        let mut state = self.state();
        if state.phase == Phase::Begins {
            state.phase = Phase::Carries;
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Takes what is written with the next transaction.
    pub(super) fn take(&self) -> Vec<Item> {
        self.state().queue.take()
    }

    /// Puts back what was not written.
    pub(super) fn put_back(&self, items: Vec<Item>) {
        self.state().queue.put_back(items);
    }

    /// Takes note that the database may not have all members of this process, or more.
    pub(super) fn note_lost_members(&self) {
        self.state().queue.has_lost_members = true;
    }

    /// Reports whether the members have to be compared since this was asked last.
    pub(super) fn take_lost_members(&self) -> bool {
        std::mem::take(&mut self.state().queue.has_lost_members)
    }

    /// Tells the publishers of items what has become of them.
    pub(super) fn end(&self, items: Vec<Item>, outcome: &Result<(), Error>) {
        let ended = {
            let mut state = self.state();
            state.queue.ended += items.len() as u64;
            state.queue.ended
        };
        for item in items {
            if let Item::Publish(waiting) = item {
                waiting.end(outcome.clone());
            }
        }
        self.ended.send_replace(ended);
    }

    /// Gives up messages that wait since before a time, or all.
    pub(super) fn give_up(&self, before: Option<Instant>, error: &Error) {
        let (late, ended) = {
            let mut state = self.state();
            (state.queue.take_late(before), state.queue.ended)
        };
        for waiting in late {
            waiting.end(Err(error.clone()));
        }
        self.ended.send_replace(ended);
    }
}

fn ending() -> Error {
    Error::new(ErrorKind::Unavailable, "the server ends")
}

/// Runs the thread.
fn carry(carrier: &Arc<PostgresCarrier>, arrivals: &dyn Arrivals) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build();
    match runtime {
        Ok(runtime) => {
            let link = Link::new(Arc::clone(carrier), arrivals);
            tokio::task::LocalSet::new().block_on(&runtime, link.run());
        }
        Err(error) => {
            let text = format!("topics: cannot start a runtime: {error}");
            (carrier.report)(Level::Error, &text);
        }
    }
    carrier.state().phase = Phase::Ended;
    carrier.changed.notify_all();
    carrier.give_up(None, &ending());
    // Nothing waits for what is left.
    carrier.ended.send_replace(u64::MAX);
}

impl Carrier for PostgresCarrier {
    fn begin(self: Arc<Self>, arrivals: Arc<dyn Arrivals>) {
        let mut state = self.state();
        if state.phase == Phase::Idle {
            let carrier = Arc::clone(&self);
            let thread = std::thread::Builder::new().name("sampan-topics".into());
            match thread.spawn(move || carry(&carrier, &*arrivals)) {
                Ok(thread) => (state.phase, state.thread) = (Phase::Begins, Some(thread)),
                Err(error) => {
                    let text = format!("topics: cannot start a thread: {error}");
                    (self.report)(Level::Error, &text);
                    state.phase = Phase::Ended;
                }
            }
        }
        let begins = |state: &mut State| state.phase == Phase::Begins;
        let waited = self
            .changed
            .wait_timeout_while(state, BEGIN_TIME_MAX, begins);
        drop(waited);
    }

    fn publish(&self, publication: Publication, done: Published) {
        self.add(Item::Publish(WaitingPublication::new(publication, done)));
    }

    fn join(&self, member: OwnMember) {
        self.add(Item::Join(member));
    }

    fn leave(&self, number: u64) {
        self.add(Item::Leave(number));
    }
}
