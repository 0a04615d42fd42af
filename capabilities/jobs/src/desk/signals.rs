//! Signals between the threads of a process: what the keeper is to look at, and that nothing more begins.

use super::Desk;
use std::sync::atomic::Ordering;

impl Desk {
    /// Tells the keeper that jobs may have been added in this process.
    pub(crate) fn tell(&self) {
        self.has_added.store(true, Ordering::Release);
        self.hear();
    }

    /// Tells the keeper that jobs may have been added anywhere.
    pub(crate) fn hear(&self) {
        self.news.store(true, Ordering::Release);
        self.keeper.notify_one();
    }

    /// Takes note that any queue may have jobs that can start. A thread looks too where a rate may have kept one from
    /// starting.
    pub(crate) fn look_anew(&self) {
        let mut state = self.lock();
        let queues = state.queues.values_mut();
        queues.for_each(|queue| queue.may_have_more = true);
        if !state.waiting.is_empty() {
            self.threads.notify_one();
        }
    }

    /// Tells the keeper that a process has rung: it may have added jobs, or cancelled some that run here.
    pub(crate) fn hear_ring(&self) {
        self.has_heard.store(true, Ordering::Release);
        self.hear();
    }

    /// Reports whether a process may have rung since the last call.
    pub(crate) fn take_heard(&self) -> bool {
        self.has_heard.swap(false, Ordering::AcqRel)
    }

    /// Takes note that the keeper on SQLite begins, or ends.
    pub(crate) fn set_keeper(&self, is_there: bool) {
        self.has_keeper.store(is_there, Ordering::SeqCst);
    }

    /// Reports whether this process takes jobs on SQLite. One that does not tells the others of those that it adds.
    pub(crate) fn has_keeper(&self) -> bool {
        self.has_keeper.load(Ordering::SeqCst)
    }

    /// Reports whether this process may have added jobs since the last call.
    pub(crate) fn take_added(&self) -> bool {
        self.has_added.swap(false, Ordering::AcqRel)
    }

    /// Reports whether the caller is to tell other processes of jobs: no other caller is about to.
    pub(crate) fn begin_ringing(&self) -> bool {
        !self.is_ringing.swap(true, Ordering::AcqRel)
    }

    /// Takes note that other processes are told now: of jobs from now on they are told anew.
    pub(crate) fn end_ringing(&self) {
        self.is_ringing.store(false, Ordering::Release);
    }

    /// Reports whether jobs may have been added since the last call.
    pub(crate) fn take_news(&self) -> bool {
        self.news.swap(false, Ordering::AcqRel)
    }

    /// Has the keeper look soon which jobs this process still has.
    pub(crate) fn doubt(&self) {
        self.is_in_doubt.store(true, Ordering::Release);
        self.keeper.notify_one();
    }

    /// Tells the keeper that jobs were cancelled: some may run, and the job that follows their batch may be there.
    pub(crate) fn tell_cancelled(&self) {
        self.doubt();
        self.hear();
    }

    /// Reports whether jobs that run may have been cancelled since the last call.
    pub(crate) fn take_doubt(&self) -> bool {
        self.is_in_doubt.swap(false, Ordering::AcqRel)
    }

    /// Reports whether this process has not looked for the tables on a server yet.
    pub(crate) fn needs_tables(&self) -> bool {
        !self.has_tables.load(Ordering::Acquire)
    }

    /// Takes note that the tables are there.
    pub(crate) fn has_tables(&self) {
        self.has_tables.store(true, Ordering::Release);
    }

    /// Has threads begin with nothing more.
    pub(crate) fn drain(&self) {
        self.is_draining.store(true, Ordering::Release);
        self.threads.notify_waiters();
        self.threads.notify_one();
        self.keeper.notify_one();
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    /// Reports whether jobs that run are given up, because the process ends.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Acquire)
    }

    /// Has the keeper end.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.keeper.notify_one();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }
}
