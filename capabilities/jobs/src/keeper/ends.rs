//! The ends and the progress of attempts, as a turn writes them.

use super::Keeper;
use super::meters::CountedAttempt;
use crate::desk::{Ended, Outcome, Progress};
use crate::failures::{fail, tell_lost};
use crate::table::batches::AllBatchEnds;
use crate::table::{JobTable, Taken};
use sampan_host::Error;
use std::collections::{HashMap, HashSet};

impl Keeper {
    /// Returns those of the jobs that this process still has, with their batches.
    pub(super) fn still_mine(
        &self,
        jobs: impl Iterator<Item = (i64, i64)>,
    ) -> Result<HashMap<i64, Option<i64>>, Error> {
        let wanted: HashSet<(i64, i64)> = jobs.collect();
        if wanted.is_empty() {
            return Ok(HashMap::new());
        }
        let known = JobTable(&*self.tables).tokens(wanted.iter().map(|(id, _)| *id))?;
        let mine = known
            .into_iter()
            .filter(|(id, token, _)| wanted.contains(&(*id, *token)));
        Ok(mine.map(|(id, _, batch)| (id, batch)).collect())
    }

    /// Writes how attempts have ended. Returns the outcomes, if they are counted.
    pub(super) fn write_ended(
        &self,
        ended: &[Ended],
        now: i64,
    ) -> Result<Vec<CountedAttempt>, Error> {
        let mut counted = Vec::new();
        if ended.is_empty() {
            return Ok(counted);
        }
        let mut count = |queue: &str, outcome| {
            if self.meters.is_some() {
                counted.push((queue.to_owned(), outcome));
            }
        };
        let table = JobTable(&*self.tables);
        let mine = self.still_mine(ended.iter().map(|one| (one.job.id, one.job.token)))?;
        let is_unbegun = |one: &&Ended| one.outcome == Outcome::Undeclared;
        table.give_back_starts(ended.iter().filter(is_unbegun).map(|one| &one.job))?;
        let mut done = Vec::new();
        for Ended { job, .. } in ended.iter().filter(|one| !mine.contains_key(&one.job.id)) {
            tell_lost(self.log.as_deref(), &job.name, job.id, job.attempt);
        }
        let mut ends = AllBatchEnds::new();
        for Ended { job, outcome } in ended {
            let Some(batch) = mine.get(&job.id) else {
                continue;
            };
            let has_died = match outcome {
                Outcome::Done => {
                    done.push(job.id);
                    count(&job.queue, "done");
                    false
                }
                Outcome::Undeclared => {
                    table.put_off(job.id, now)?;
                    continue;
                }
                Outcome::Failed(failure) => {
                    let attempt = (job.id, &*job.name, job.attempt);
                    if fail(table, &self.desk, attempt, failure, now)?.is_some() {
                        count(&job.queue, "failed");
                        continue;
                    }
                    count(&job.queue, "dead");
                    true
                }
            };
            if let Some(batch) = batch {
                let ends = ends.entry(*batch).or_default();
                ends.done += i64::from(!has_died);
                ends.dead += i64::from(has_died);
            }
        }
        let is_kept = self.desk.config().keep_done_millis > 0;
        if !done.is_empty() {
            table.done(done, now, is_kept)?;
        }
        self.count_ends(&ends, now)?;
        Ok(counted)
    }

    /// Gives back jobs that were taken and not begun.
    pub(super) fn give_back(&self, jobs: &[Taken]) -> Result<(), Error> {
        if jobs.is_empty() {
            return Ok(());
        }
        let table = JobTable(&*self.tables);
        let mine = self.still_mine(jobs.iter().map(|job| (job.id, job.token)))?;
        table.give_back(mine.into_keys())?;
        table.give_back_starts(jobs)
    }

    /// Counts ends in their batches. The jobs that follow batches start at once.
    pub(super) fn count_ends(&self, ends: &AllBatchEnds, now: i64) -> Result<(), Error> {
        if JobTable(&*self.tables).count_ends(ends, now)? {
            self.desk.look_anew();
        }
        Ok(())
    }

    /// Writes how far jobs are.
    pub(super) fn write_progress(&self, progress: &[(i64, Progress)]) -> Result<(), Error> {
        let mine = self.still_mine(progress.iter().map(|(id, told)| (*id, told.token)))?;
        let table = JobTable(&*self.tables);
        for (id, told) in progress {
            if mine.contains_key(id) {
                table.progress(*id, told.progress, told.text.clone())?;
            }
        }
        Ok(())
    }
}
