//! The ends and the progress of attempts, on their way from the threads to the table.

use super::{Desk, Ended, Outcome, Progress};

impl Desk {
    /// Takes note of a progress.
    pub(crate) fn progress(&self, id: i64, progress: Progress) {
        self.lock().progress.insert(id, progress);
        self.keeper.notify_one();
    }

    /// Returns the attempts that have ended and the progress that was told, for the table. That of jobs which are done
    /// and not kept goes with them.
    pub(crate) fn take_ended(&self) -> (Vec<Ended>, Vec<(i64, Progress)>) {
        let mut state = self.lock();
        let ended = std::mem::take(&mut state.ended);
        let mut progress = std::mem::take(&mut state.progress);
        if state.config.keep_done_millis == 0 {
            for Ended { job, .. } in ended.iter().filter(|one| one.outcome == Outcome::Done) {
                if progress
                    .get(&job.id)
                    .is_some_and(|told| told.token == job.token)
                {
                    progress.remove(&job.id);
                }
            }
        }
        (ended, progress.into_iter().collect())
    }

    /// Puts ends back that could not be written.
    pub(crate) fn put_back(&self, ended: Vec<Ended>) {
        self.lock().ended.extend(ended);
    }

    /// Puts progress back that could not be written, unless the attempt has told of more since.
    pub(crate) fn put_back_progress(&self, progress: Vec<(i64, Progress)>) {
        let mut state = self.lock();
        for (id, told) in progress {
            state.progress.entry(id).or_insert(told);
        }
    }
}
