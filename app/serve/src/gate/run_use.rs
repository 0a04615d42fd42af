//! The use of the database by runs that are not a request's handler: events of sockets, functions that get messages,
//! jobs, streams, and work after an answer.
//!
//! While transactions are open no worker waits in place for the write connection. A coroutine of Lua waits in the
//! middle of its call. JavaScript cannot, so a run that may write waits before it begins and before it goes on. Runs of
//! one declaration share what is known of them.

use crate::processor_time::thread_time;
use sampan_host::database::{RouteUse, WorkerDatabase};
use sampan_host::{Error, LocalFuture};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// A run that has not written after so many turns counts as one that only reads: the function that feeds a stream of
/// events may never end.
const TURNS_MAX: u32 = 100;
/// A job with a turn of more processor time gets the write connection only when it writes: others would wait for what
/// it computes. A job that waits for a processor behind others is not slow.
const SLOW_TURN: Duration = Duration::from_millis(500);

/// The kind of a run that is not a request's handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunKind {
    /// An attempt of a job, which may compute for long and is tried again.
    Job,
    /// A function of the script that the server calls.
    Function,
    /// An event of a socket.
    SocketEvent(&'static str),
    /// The function of a stream, as the body of an answer.
    Stream,
    /// The unfinished work of a handler after its answer, and timers.
    AfterAnswer,
}

/// The observed uses of runs of one kind, by the name of their declaration.
type UsesByName = HashMap<Box<str>, Rc<KnownUse>, foldhash::fast::RandomState>;

/// The observed uses of the database on one worker.
#[derive(Default)]
pub(super) struct KnownUses(RefCell<HashMap<RunKind, UsesByName, foldhash::fast::RandomState>>);

/// The observed use of the database by the runs of one declaration.
struct KnownUse {
    route: RouteUse,
    kind: RunKind,
    /// True if a turn took long.
    is_slow: Cell<bool>,
    /// True if a run has met an open transaction. From then on runs that write wait for the connection at any time: a
    /// transaction of another worker may begin between a look and the write.
    meets_transactions: Cell<bool>,
}

impl KnownUses {
    /// Returns the use of a run that begins.
    pub(super) fn begin(&self, kind: RunKind, name: &str) -> RunUse {
        let mut kinds = self.0.borrow_mut();
        let known = kinds.entry(kind).or_default();
        let known = match known.get(name) {
            Some(known) => Rc::clone(known),
            None => {
                let new = Rc::new(KnownUse {
                    // A message or a stream must not be lost because its declaration is new. A job is tried again.
                    route: RouteUse::new(!matches!(kind, RunKind::Job | RunKind::AfterAnswer)),
                    kind,
                    is_slow: Cell::new(false),
                    meets_transactions: Cell::new(false),
                });
                known.insert(name.into(), Rc::clone(&new));
                new
            }
        };
        RunUse {
            known,
            turns: 0,
            has_written: false,
        }
    }
}

/// The use of the database by one run, over all its turns.
pub(super) struct RunUse {
    known: Rc<KnownUse>,
    turns: u32,
    has_written: bool,
}

impl RunUse {
    /// Returns the use of one turn, which begins with what is known. It is given to [`RunUse::left`] afterwards.
    pub(super) fn turn(&self) -> RouteUse {
        let turn = RouteUse::new(self.known.route.is_expected_to_write());
        if self.known.route.runs_alone() {
            turn.note_undone();
        }
        turn
    }

    /// Takes note of a turn of the script; `None` if the script did not run in it.
    pub(super) fn left(&mut self, turn: Option<&RouteUse>, has_ended: bool) {
        let known = &self.known.route;
        if let Some(turn) = turn {
            self.turns = self.turns.saturating_add(1);
            self.has_written |= turn.has_written();
            if turn.runs_alone() && !known.runs_alone() {
                known.note_undone();
            }
        }
        // A run that has only read so far may still write.
        if self.has_written || has_ended || self.turns >= TURNS_MAX {
            known.note(self.has_written);
        }
    }

    /// Reports whether the run must have the write connection before its next turn.
    fn must_wait(&self, db: &dyn WorkerDatabase) -> bool {
        let KnownUse {
            route,
            kind,
            is_slow,
            meets_transactions,
        } = &*self.known;
        // What is left of a run may be the commit of another's transaction, which waited for a promise of this run.
        let may_commit = *kind == RunKind::AfterAnswer && db.has_transactions();
        if is_slow.get() || may_commit {
            return false;
        }
        if db.must_queue(route) {
            meets_transactions.set(true);
            return true;
        }
        // Of the transactions on this worker one may be the run's own.
        meets_transactions.get() && route.has_written() && !db.has_transactions()
    }
}

/// The turns of a run that no request waits for.
pub(super) struct RunTurns {
    db: Rc<dyn WorkerDatabase>,
    /// `None` if the script can wait in the middle of a call.
    used: Option<RunUse>,
    /// The wait for the write connection before the next turn.
    queued: Option<LocalFuture<Result<(), Error>>>,
    /// True if the connection cannot be had: the script gets the error where it writes.
    is_refused: bool,
    /// The processor time of the thread when the turn began, of a job.
    begun: Option<Duration>,
}

impl RunTurns {
    pub(super) fn new(db: &Rc<dyn WorkerDatabase>, used: Option<RunUse>) -> Self {
        Self {
            db: Rc::clone(db),
            used,
            queued: None,
            is_refused: false,
            begun: None,
        }
    }

    /// Waits until the run may have its next turn.
    pub(super) fn poll_begin(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(used) = &self.used else {
            return Poll::Ready(());
        };
        if self.queued.is_none() && !self.is_refused && used.must_wait(&*self.db) {
            self.queued = Some(self.db.writable());
        }
        if let Some(queued) = &mut self.queued {
            self.is_refused = ready!(queued.as_mut().poll(cx)).is_err();
            self.queued = None;
        }
        self.begun = (used.known.kind == RunKind::Job).then(thread_time);
        Poll::Ready(())
    }

    /// To be called after each turn; `has_run` tells whether the script ran in it.
    pub(super) fn left(&mut self, has_run: bool, has_ended: bool) {
        self.is_refused = false;
        let took = self
            .begun
            .take()
            .map(|begun| thread_time().saturating_sub(begun));
        let Some(used) = &mut self.used else {
            self.db.left(None, &|| false);
            return;
        };
        let turn = has_run.then(|| used.turn());
        self.db.left(turn.as_ref(), &|| false);
        used.left(turn.as_ref(), has_ended);
        if took.is_some_and(|took| took > SLOW_TURN) {
            used.known.is_slow.set(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_may_write_until_a_run_of_it_has_ended_that_did_not() {
        let uses = KnownUses::default();
        let mut first = uses.begin(RunKind::Function, "a");
        let turn = first.turn();
        assert!(turn.is_expected_to_write());
        turn.note(false);
        first.left(Some(&turn), false);
        assert!(first.turn().is_expected_to_write(), "it goes on");
        first.left(None, true);
        let is_expected = |kind, name: &str| uses.begin(kind, name).turn().is_expected_to_write();
        assert!(!is_expected(RunKind::Function, "a"));
        assert!(is_expected(RunKind::Function, "b") && is_expected(RunKind::Stream, "a"));
        // A job is tried again.
        let mut job = uses.begin(RunKind::Job, "a");
        let turn = job.turn();
        assert!(!turn.is_expected_to_write());
        turn.note(true);
        job.left(Some(&turn), true);
        assert!(is_expected(RunKind::Job, "a"));
    }
}
