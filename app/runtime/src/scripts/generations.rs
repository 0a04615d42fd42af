//! The generation of a script that the isolates of a pool have loaded or are to load.
//!
//! A generation counts once an isolate has loaded it, and its texts are kept as that one read them ([`FollowedFiles`]).
//! So the other isolates load the same, however late, also if the disk has other files by then. Two things make a
//! generation:
//! - A worker that finds a changed file loads it alone. If it loads, it counts, and each other isolate loads it before
//!   its next work.
//! - A reload that the program asks for is a trial: all isolates load it beside what they serve, and it counts when all
//!   have.

use super::job::WorkerState;
use crate::generation::Generation;
use crate::locks::lock;
use crate::reload::followed_files::FollowedFiles;
use crate::reload::seen_files::SeenFiles;
use sampan_host::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

/// A generation, and the files that it was read from, where they are noted.
pub(super) type Read = (Arc<Generation>, Option<Arc<SeenFiles>>);

/// The generations that the isolates of a pool load.
pub(super) struct Generations {
    pub(super) state: Mutex<State>,
    /// Counts the changes of the state, so that a worker sees without a lock that there is something to do.
    changes: AtomicU64,
    pub(super) has_tried: Condvar,
    pub(super) turn: TurnHolder,
    /// The files of the generation that counts; none if the script is a text.
    pub(super) files: Option<FollowedFiles>,
    /// True if work has the files looked at.
    looks: bool,
}

pub(super) struct State {
    /// The generation that all isolates answer with, or will before their next work.
    current: Read,
    /// The generation before, for the case that an isolate cannot load what another could.
    before: Option<Read>,
    pub(super) trial: Option<Trial>,
}

/// A generation that all isolates are asked to load.
pub(super) struct Trial {
    pub(super) generation: Arc<Generation>,
    /// The number of isolates that have loaded it.
    pub(super) loaded: usize,
    /// The reason why one of them could not.
    pub(super) fault: Option<Error>,
}

/// The task of a worker.
pub(super) struct Wanted {
    /// The generation to answer with.
    pub(super) current: Arc<Generation>,
    /// The generation to load beside that.
    pub(super) trial: Option<Arc<Generation>>,
}

impl Generations {
    pub(super) fn new(first: Generation, files: Option<FollowedFiles>, looks: bool) -> Self {
        let seen = files.as_ref().map(FollowedFiles::seen);
        Self {
            state: Mutex::new(State {
                current: (Arc::new(first), seen),
                before: None,
                trial: None,
            }),
            changes: AtomicU64::new(0),
            has_tried: Condvar::new(),
            turn: TurnHolder::default(),
            files,
            looks,
        }
    }

    /// Returns the current generation.
    pub(super) fn current(&self) -> Arc<Generation> {
        Arc::clone(&lock(&self.state).current.0)
    }

    pub(super) fn wanted(&self) -> Wanted {
        let state = lock(&self.state);
        let trial = state.trial.as_ref();
        Wanted {
            current: Arc::clone(&state.current.0),
            trial: trial.map(|trial| Arc::clone(&trial.generation)),
        }
    }

    /// Another number than before if a worker has something to do.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// The first generation has been loaded.
    pub(super) fn is_loaded(&self) {
        if let Some(files) = &self.files {
            files.seen().keep_missing();
        }
    }

    /// The turn of a worker that finds a changed file, if it is time to look and no reload is under way.
    pub(super) fn changed(&self, worker: &Arc<WorkerState>) -> Option<ReloadTurn<'_>> {
        let files = self.files.as_ref().filter(|_| self.looks)?;
        if !files.is_due() {
            return None;
        }
        let turn = self.turn.try_take(worker)?;
        files.seen().have_changed().then_some(turn)
    }

    /// Takes the turn from a worker that will not give it back.
    pub(super) fn take_turn_from(&self, worker: &Arc<WorkerState>) {
        self.turn.release(Some(worker));
    }

    /// An isolate has loaded it: it counts.
    pub(super) fn accept(&self, (generation, seen): Read) {
        if let (Some(files), Some(seen)) = (&self.files, &seen) {
            seen.keep_missing();
            files.replace(Arc::clone(seen));
        }
        let mut state = lock(&self.state);
        let before = std::mem::replace(&mut state.current, (generation, seen));
        state.before = Some(before);
        state.trial = None;
        drop(state);
        self.tell_workers();
    }

    /// Rejects a generation that does not load: the current one stays, and nothing is tried again until a file has
    /// changed.
    pub(super) fn reject(&self, (_, seen): &Read) {
        if let (Some(files), Some(seen)) = (&self.files, seen) {
            files.seen().wait_for_change_of(seen);
        }
    }

    /// Takes the result of loading a trial in an isolate.
    pub(super) fn report(&self, tried: &Arc<Generation>, loaded: Result<(), Error>) {
        let mut state = lock(&self.state);
        let trial = state.trial.as_mut();
        let Some(trial) = trial.filter(|trial| Arc::ptr_eq(&trial.generation, tried)) else {
            return;
        };
        match loaded {
            Ok(()) => trial.loaded += 1,
            Err(error) => drop(trial.fault.get_or_insert(error)),
        }
        drop(state);
        self.has_tried.notify_all();
    }

    /// An isolate cannot load what another has loaded: all go back to what they had before. An isolate that cannot load
    /// that either goes on with what it has.
    pub(super) fn go_back(&self, failed: &Arc<Generation>) {
        let mut state = lock(&self.state);
        if !Arc::ptr_eq(&state.current.0, failed) {
            return;
        }
        let Some(before) = state.before.take() else {
            return;
        };
        let (_, failed) = std::mem::replace(&mut state.current, before);
        if let (Some(files), Some(seen), Some(failed)) = (&self.files, &state.current.1, failed) {
            seen.wait_for_change_of(&failed);
            files.replace(Arc::clone(seen));
        }
        drop(state);
        self.tell_workers();
    }

    pub(super) fn set_trial(&self, trial: Option<Trial>) {
        lock(&self.state).trial = trial;
        self.tell_workers();
    }

    fn tell_workers(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }
}

/// The holder of the turn to reload, one at a time.
#[derive(Default)]
pub(super) struct TurnHolder {
    holder: Mutex<Option<Holder>>,
    is_free: Condvar,
}

/// A worker; none for the thread of a program.
type Holder = Option<Arc<WorkerState>>;

/// A turn to reload, until this is dropped or taken away.
pub(super) struct ReloadTurn<'a> {
    of: &'a TurnHolder,
    holder: Holder,
}

impl TurnHolder {
    pub(super) fn take(&self) -> ReloadTurn<'_> {
        let mut holder = lock(&self.holder);
        while holder.is_some() {
            let waited = self.is_free.wait(holder);
            holder = waited.unwrap_or_else(PoisonError::into_inner);
        }
        *holder = Some(None);
        ReloadTurn {
            of: self,
            holder: None,
        }
    }

    /// Waits until no thread of the program has the turn. False if one still has it at the deadline.
    pub(super) fn wait_for_program(&self, deadline: Instant) -> bool {
        let mut holder = lock(&self.holder);
        while matches!(*holder, Some(None)) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.is_free.wait_timeout(holder, left);
            holder = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn try_take(&self, worker: &Arc<WorkerState>) -> Option<ReloadTurn<'_>> {
        let mut holder = lock(&self.holder);
        if holder.is_some() {
            return None;
        }
        *holder = Some(Some(Arc::clone(worker)));
        Some(ReloadTurn {
            of: self,
            holder: Some(Arc::clone(worker)),
        })
    }

    /// Ends the turn if it belonged to the given worker.
    fn release(&self, whose: Option<&Arc<WorkerState>>) {
        let mut holder = lock(&self.holder);
        let is_theirs = match (&*holder, whose) {
            (Some(Some(worker)), Some(whose)) => Arc::ptr_eq(worker, whose),
            (Some(None), None) => true,
            _ => false,
        };
        if is_theirs {
            *holder = None;
            // Reloads and the end of the pool wait for different things.
            self.is_free.notify_all();
        }
    }
}

impl Drop for ReloadTurn<'_> {
    fn drop(&mut self) {
        self.of.release(self.holder.as_ref());
    }
}
