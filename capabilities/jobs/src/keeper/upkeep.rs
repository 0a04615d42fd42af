//! Leases and old rows.

use super::{Keeper, LostAttempt};
use crate::desk::Failure;
use crate::failures::{FailedAttempt, attempts_of, fail, tell_lost};
use crate::limits::{BATCH_MAX, CANCELLED_MILLIS, LEASE_MILLIS_MAX};
use crate::queue::now;
use crate::table::batches::AllBatchEnds;
use crate::table::{Expired, JobTable, state};
use sampan_host::Error;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Returns the latest time at which a lease can end that was given by now.
fn longest_lease(now: i64) -> i64 {
    now.saturating_add_unsigned(LEASE_MILLIS_MAX)
}

pub(crate) const LEASE_ENDED: &str = "its process ended, or said nothing for longer than its lease";

impl Keeper {
    /// Reports whether a job that this process has was cancelled by another process.
    pub(super) fn has_cancelled(&self) -> Result<bool, Error> {
        let held = self.desk.held();
        let since = now().saturating_sub(CANCELLED_MILLIS);
        // Most rings are for jobs that were added.
        if held.is_empty() || !JobTable(&*self.tables).any_cancelled(since)? {
            return Ok(false);
        }
        let mine = self.still_mine(held.iter().map(|(id, token)| (*id, *token)))?;
        Ok(mine.len() < held.len())
    }

    /// Logs attempts whose lease ended.
    pub(super) fn tell_expired(&self, lost: &[LostAttempt]) {
        for one in lost {
            if let Some(log) = &self.log {
                let failed = FailedAttempt {
                    id: one.id,
                    name: &one.name,
                    attempt: one.attempt,
                    attempts: attempts_of(&self.desk, &one.name),
                    again: one.again,
                    error: LEASE_ENDED,
                };
                failed.report(&**log);
            }
        }
    }

    /// Reports whether a lease is to be taken away or shortened.
    pub(super) fn has_expired(&self) -> Result<bool, Error> {
        let (table, now) = (JobTable(&*self.tables), now());
        let expired = table.expired(now, &self.desk.names(), 1)?;
        Ok(!expired.is_empty() || table.any_later(longest_lease(now))?)
    }

    /// Gives others the time to extend their leases.
    pub(super) fn be_patient(&mut self) {
        self.patient_until = Instant::now() + self.desk.config().lease;
    }

    /// Takes note of the time for which a turn has waited for the lock of the database: after a long one the leases of
    /// others may have ended while they waited too.
    pub(super) fn note_wait(&mut self, waited: Duration) {
        if waited >= self.desk.config().lease / 3 {
            self.be_patient();
        }
    }

    /// Extends the leases of the jobs of this process, and takes those away that others have left: `taken` gets these.
    pub(super) fn extend(
        &mut self,
        now: i64,
        lease: i64,
        taken: &mut Vec<LostAttempt>,
    ) -> Result<(), Error> {
        let table = JobTable(&*self.tables);
        let held = self.desk.held();
        let mine = self.still_mine(held.iter().map(|(id, token)| (*id, *token)))?;
        let lost: Vec<i64> = held
            .keys()
            .filter(|id| !mine.contains_key(id))
            .copied()
            .collect();
        for (id, name, attempt) in self.desk.lose(&lost) {
            tell_lost(self.log.as_deref(), &name, id, attempt);
        }
        if !mine.is_empty() {
            table.extend(mine.into_keys(), lease)?;
        }
        // The clock was set back since: a process that lives extends its leases, the others end soon.
        table.shorten(longest_lease(now), lease)?;
        self.extended = Instant::now();
        if Instant::now() < self.patient_until {
            return Ok(());
        }
        // An attempt may have ended since this turn began: the next one writes its end.
        let known: HashSet<i64> = self.desk.known().into_iter().collect();
        let mut ends = AllBatchEnds::new();
        let expired = table
            .expired(now, &self.desk.names(), BATCH_MAX)?
            .into_iter();
        for Expired {
            id,
            name,
            attempt,
            batch,
        } in expired.filter(|one| !known.contains(&one.id))
        {
            let lost = Failure {
                error: LEASE_ENDED.to_owned(),
                ..Failure::default()
            };
            let again = fail(table, &self.desk, (id, &name, attempt), &lost, now)?;
            if again.is_none()
                && let Some(batch) = batch
            {
                ends.entry(batch).or_default().dead += 1;
            }
            taken.push(LostAttempt {
                id,
                name,
                attempt,
                again,
            });
        }
        self.count_ends(&ends, now)
    }

    /// Removes old rows, and moves jobs whose names have another queue now.
    pub(super) fn prune(&mut self, now: i64) -> Result<(), Error> {
        let (table, config) = (JobTable(&*self.tables), self.desk.config());
        // Not while old rows are removed again and again.
        if self.pruned.take().is_some() && table.move_strays(&self.desk.queues())? > 0 {
            self.desk.look_anew();
        }
        let mut is_complete = true;
        for (state, millis) in [
            (state::DONE, config.keep_done_millis),
            (state::DEAD, config.keep_millis),
            (state::CANCELLED, config.keep_millis),
        ] {
            let removed = table.prune(state, now.saturating_sub(millis), BATCH_MAX)?;
            is_complete &= removed < BATCH_MAX as i64;
        }
        if is_complete {
            self.pruned = Some(Instant::now());
        }
        Ok(())
    }
}
