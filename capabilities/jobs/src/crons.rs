//! Jobs by the clock: a cron adds a job each time that its schedule says, once for all processes that share the
//! database.

use crate::limits::{FORGOTTEN_MILLIS, MISSED_MILLIS};
use crate::schedule::Schedule;
use crate::table::crons::StoredCron;
use crate::table::{JobTable, NewRow};
use sampan_host::Error;
use sampan_host::jobs::JobPolicy;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The prefix of the names of jobs that a cron adds.
pub(crate) const CRON_PREFIX: &str = "cron:";

/// A cron as the project declares it.
#[derive(Clone, Debug)]
pub(crate) struct CronRule {
    pub(crate) schedule: Schedule,
    /// True if one run makes up for those that were missed while no process was there.
    pub(crate) makes_up: bool,
}

/// The crons of a process, by their names.
pub(crate) type CronRules = BTreeMap<String, Arc<CronRule>>;

/// The next runs of crons, as a keeper knows them.
#[derive(Default)]
pub(crate) struct Crons {
    /// By the name, with the schedule that it is of.
    next: HashMap<String, (Arc<CronRule>, i64)>,
}

impl Crons {
    /// Returns the next run of a cron, if it is known.
    pub(crate) fn next_of(&self, name: &str, rule: &Arc<CronRule>) -> Option<i64> {
        let (of, next) = self.next.get(name)?;
        Arc::ptr_eq(of, rule).then_some(*next)
    }

    /// Reports whether something is to be done for a cron: it is due, or not known yet.
    pub(crate) fn are_due(&self, rules: &CronRules, now: i64) -> bool {
        let is_due = |(name, rule): (&String, &Arc<CronRule>)| {
            self.next_of(name, rule).is_none_or(|next| next <= now)
        };
        rules.iter().any(is_due)
    }

    /// Returns the time of the next run of any.
    pub(crate) fn next(&self) -> Option<i64> {
        self.next.values().map(|(_, next)| *next).min()
    }

    /// Forgets what is known, so that the table is asked.
    pub(crate) fn forget(&mut self) {
        self.next.clear();
    }

    /// Forgets the crons that are declared no longer.
    pub(crate) fn keep_only(&mut self, rules: &CronRules) {
        self.next.retain(|name, _| rules.contains_key(name));
    }

    /// Takes note of the next run of a cron.
    pub(crate) fn set_next(&mut self, name: &str, rule: &Arc<CronRule>, next: i64) {
        self.next.insert(name.to_owned(), (Arc::clone(rule), next));
    }

    /// Adds the jobs that are due, in the open transaction. `policy` gives the rules for the jobs of a name.
    pub(crate) fn run(
        &mut self,
        table: JobTable<'_>,
        rules: &CronRules,
        policy: impl Fn(&str) -> Option<JobPolicy>,
        now: i64,
    ) -> Result<(), Error> {
        self.keep_only(rules);
        for (name, rule) in rules {
            if self.next_of(name, rule).is_some_and(|next| next > now) {
                continue;
            }
            let schedule = &rule.schedule;
            // Processes of other versions have schedules of their own.
            let stored = table.cron(name)?;
            let (own, others): (Vec<_>, Vec<_>) =
                stored.into_iter().partition(|one| one.is_of(schedule));
            let next = match own.first().map(|own| own.next) {
                // Another process has run it, or runs it later.
                Some(next) if next > now && !schedule.is_set_back(next, now) => next,
                next => {
                    let due = next.filter(|due| *due <= now);
                    let due = due.filter(|due| rule.makes_up || now - due <= MISSED_MILLIS);
                    if let Some(due) = due
                        && !others.iter().any(|other| has_run(other, due, now))
                    {
                        let job = format!("{CRON_PREFIX}{name}");
                        let queue = policy(&job).map_or_else(String::new, |policy| policy.queue);
                        add(table, &job, &queue, due, now)?;
                    }
                    let next = schedule.next(now).unwrap_or(i64::MAX);
                    table.put_cron(name, schedule, next, due)?;
                    table.forget_crons(name, now - FORGOTTEN_MILLIS)?;
                    next
                }
            };
            self.set_next(name, rule, next);
        }
        Ok(())
    }
}

/// Reports whether another schedule of a cron ran for a time that is due: at that time, or later where the run makes up
/// for it.
fn has_run(other: &StoredCron, due: i64, now: i64) -> bool {
    let is_late = now - due > MISSED_MILLIS;
    // A clock that was ahead may have left a later time.
    let ran = other.ran.filter(|ran| *ran <= now);
    ran.is_some_and(|ran| ran >= due) && (is_late || other.has_time(due))
}

/// Adds the job of a cron, unless that of an earlier time has not ended.
fn add(table: JobTable<'_>, job: &str, queue: &str, due: i64, now: i64) -> Result<(), Error> {
    let args = format!("{{\"due\":{}}}", due / 1_000);
    loop {
        let row = NewRow {
            id: crate::ids::next_id(),
            name: job,
            queue,
            args: &args,
            priority: 0,
            due: now,
            now,
            unique: Some(job),
            batch: None,
        };
        if table.insert(&row)? || table.of_key(job)?.is_some() {
            return Ok(());
        }
    }
}
