//! The thread on which slow commits run, so that no worker stands still while the disk works.

use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::error::StatementError;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// The connection after its commit, what came of it, and how long it took.
pub(crate) type Committed = (Box<SqliteConnection>, Result<(), StatementError>, Duration);

/// Starts when it is first needed, ends with the database.
#[derive(Default)]
pub(crate) struct CommitThread {
    jobs: OnceLock<Sender<(Box<SqliteConnection>, Arc<CommitSlot>)>>,
}

#[derive(Default)]
struct CommitSlot {
    state: Mutex<(Option<Committed>, Option<Waker>)>,
    done: Condvar,
}

impl CommitSlot {
    fn lock(&self) -> MutexGuard<'_, (Option<Committed>, Option<Waker>)> {
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn fill(&self, committed: Committed) {
        let waker = {
            let mut state = self.lock();
            state.0 = Some(committed);
            state.1.take()
        };
        self.done.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl CommitThread {
    /// Commits the transaction of `writer` elsewhere; here, where there is no thread to be had.
    pub(crate) fn commit(&self, writer: Box<SqliteConnection>) -> PendingCommit {
        let slot = Arc::new(CommitSlot::default());
        let jobs = self.jobs.get_or_init(|| {
            let (sender, receiver) = channel::<(Box<SqliteConnection>, Arc<CommitSlot>)>();
            let work = move || {
                for (writer, slot) in receiver {
                    slot.fill(commit(writer));
                }
            };
            // Without a thread the receiver is dropped, and sending gives the job back.
            drop(
                std::thread::Builder::new()
                    .name("sampan-commit".into())
                    .spawn(work),
            );
            sender
        });
        if let Err(back) = jobs.send((writer, Arc::clone(&slot))) {
            let (writer, slot) = back.0;
            slot.fill(commit(writer));
        }
        PendingCommit(slot)
    }
}

fn commit(writer: Box<SqliteConnection>) -> Committed {
    let began = Instant::now();
    let result = writer.commit();
    (writer, result, began.elapsed())
}

/// A commit that is on its way.
pub(crate) struct PendingCommit(Arc<CommitSlot>);

impl PendingCommit {
    /// The result, once.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<Committed> {
        let mut state = self.0.lock();
        match state.0.take() {
            Some(committed) => Poll::Ready(committed),
            None => {
                state.1 = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Waits for the result in place.
    pub(crate) fn wait(self) -> Committed {
        let mut state = self.0.lock();
        loop {
            if let Some(committed) = state.0.take() {
                return committed;
            }
            state = self
                .0
                .done
                .wait(state)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}
