//! The keeper of a process: takes jobs that are due and leaves them at the desk, writes how those ended that ran, and
//! extends the leases of those that run. All of that goes into one transaction, again and again.
//!
//! It sleeps until something was added and committed, something has ended, or something is due. What other processes
//! add is found within [`LOOK`].

mod clock;
pub(crate) mod meters;
pub(crate) mod upkeep;

use crate::crons::{CronRules, Crons};
use crate::desk::{Desk, Ended, Outcome};
use crate::failures::fail;
use crate::limits::{BATCH_MAX, ERROR_PAUSE, LOOK, PRUNE};
use crate::queue::now;
use crate::table::batches::AllBatchEnds;
use crate::table::{JobTable, Taken};
use clock::ClockWatch;
use meters::{CountedAttempt, JobMeters};
use sampan_host::database::AppTables;
use sampan_host::log::{Cause, Entry, Level, Log};
use sampan_host::{Error, ErrorKind, Outbox, Verdict};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};
use upkeep::longest_lease;

/// The keeper of a process, or of a test.
pub(crate) struct Keeper {
    desk: Arc<Desk>,
    tables: Rc<dyn AppTables>,
    outbox: Rc<Outbox>,
    log: Option<Rc<dyn Log>>,
    /// The time of the next job that is due later.
    next_due: Option<i64>,
    crons: Crons,
    rules: CronRules,
    looked: Option<Instant>,
    extended: Instant,
    pruned: Option<Instant>,
    clock: ClockWatch,
    /// No lease of another is taken to have ended before this.
    patient_until: Instant,
    meters: Option<JobMeters>,
}

/// The changes that one transaction makes.
struct Turn {
    ended: Vec<Ended>,
    taken: Vec<Taken>,
    /// Those whose lease ended.
    lost: Vec<LostAttempt>,
    /// The outcomes of attempts, for those who measure.
    counted: Vec<CountedAttempt>,
}

/// An attempt whose lease ended.
struct LostAttempt {
    id: i64,
    name: String,
    attempt: u32,
    /// The pause until the next attempt; `None` if the job is dead.
    again: Option<Duration>,
}

impl Keeper {
    pub(crate) fn new(
        desk: Arc<Desk>,
        tables: Rc<dyn AppTables>,
        outbox: Rc<Outbox>,
        log: Option<Rc<dyn Log>>,
    ) -> Self {
        let begun = Instant::now();
        Self {
            desk,
            tables,
            outbox,
            log,
            next_due: None,
            crons: Crons::default(),
            rules: CronRules::new(),
            looked: None,
            extended: begun,
            pruned: None,
            clock: ClockWatch::new(),
            patient_until: begun,
            meters: None,
        }
    }

    /// Measures jobs from now on.
    pub(crate) fn measured(self, meters: Option<JobMeters>) -> Self {
        Self { meters, ..self }
    }

    /// Keeps jobs until the desk is closed.
    pub(crate) async fn keep(mut self) {
        loop {
            let is_closing = self.desk.is_closed();
            match self.turn().await {
                Ok(true) if !is_closing => continue,
                Ok(_) => {}
                Err(error) => {
                    if let Some(log) = &self.log {
                        let text = format!("jobs: {error}");
                        let cause = Cause::message(error.message());
                        log.write_limited(Level::Error, cause, &Entry::text(text));
                    }
                    if !is_closing {
                        sleep(ERROR_PAUSE).await;
                    }
                }
            }
            if is_closing {
                return;
            }
            let _ = timeout(self.pause(), self.desk.keeper.notified()).await;
        }
    }

    /// Returns how long there is nothing to do unless something happens.
    fn pause(&self) -> Duration {
        let next = self.next_due.into_iter().chain(self.crons.next()).min();
        let due = next.map(|due| u64::try_from(due - now()).unwrap_or(0));
        let due = due.map_or(LOOK, |millis| Duration::from_millis(millis + 1));
        let rate = match self.desk.waits_for_rate() {
            true => Duration::from_millis(20),
            false => LOOK,
        };
        due.min(rate).min(LOOK)
    }

    /// Makes one transaction, if there is something to do. Returns false if there was not.
    ///
    /// # Errors
    /// The database's own. What ended is kept, and written later.
    pub(crate) async fn turn(&mut self) -> Result<bool, Error> {
        let lease_time = self.desk.config().lease;
        self.look_at_clock(lease_time);
        let is_look = self.looked.is_none_or(|looked| looked.elapsed() >= LOOK);
        if self.desk.take_news() || is_look {
            self.desk.look_anew();
            self.next_due = JobTable(&*self.tables).next_due()?;
            self.looked = Some(Instant::now());
            self.rules = self.desk.crons();
        }
        if let Some(meters) = &mut self.meters {
            meters.look(JobTable(&*self.tables));
        }
        let (ended, progress) = self.desk.take_ended();
        let is_due = self.next_due.is_some_and(|due| due <= now())
            || (!self.desk.is_draining() && self.crons.are_due(&self.rules, now()));
        let extends = self.extended.elapsed() >= lease_time / 3 || self.desk.take_doubt();
        let prunes = self.pruned.is_none_or(|pruned| pruned.elapsed() >= PRUNE);
        let mut room = match self.desk.is_draining() {
            true => Vec::new(),
            false => self.desk.room(),
        };
        let mut turn = Turn {
            ended,
            taken: Vec::new(),
            lost: Vec::new(),
            counted: Vec::new(),
        };
        if turn.ended.is_empty() && progress.is_empty() && !is_due && !self.desk.is_closed() {
            // So far nothing is to be written: a look does not take the write connection.
            let table = JobTable(&*self.tables);
            let mut found = Vec::new();
            for (queue, count) in room {
                match table.any_ready(&queue)? {
                    true => found.push((queue, count)),
                    false => self.desk.is_empty(&queue),
                }
            }
            room = found;
            let has_held = extends && !self.desk.held().is_empty();
            let has_expired = extends
                && (!table.expired(now(), 1)?.is_empty()
                    || table.any_later(longest_lease(now()))?);
            if extends && !has_held && !has_expired {
                self.extended = Instant::now();
            }
            let nothing = room.is_empty() && !has_held && !has_expired && !prunes;
            if nothing {
                return Ok(false);
            }
        }
        let written = self
            .write(&mut turn, progress, &room, (extends, prunes))
            .await;
        let settled = match written {
            Ok(()) => match self.outbox.settled().await {
                Verdict::Committed => Ok(()),
                Verdict::Failed => Err(Error::new(ErrorKind::Internal, "a commit failed")),
            },
            failed => failed,
        };
        if let Err(error) = settled {
            self.desk.put_back(turn.ended);
            self.crons.forget();
            return Err(error);
        }
        if let Some(meters) = &mut self.meters {
            meters.ended(turn.counted);
        }
        self.tell_expired(&turn.lost);
        self.desk.put(turn.taken);
        Ok(true)
    }

    /// After a jump of the clock the leases of others may seem to have ended: they get the time to extend them.
    fn look_at_clock(&mut self, lease_time: Duration) {
        if self.clock.has_jumped() {
            let at = Instant::now();
            self.patient_until = at + lease_time;
            // Its own are extended at once.
            self.extended = at.checked_sub(lease_time).unwrap_or(self.extended);
            self.looked = None;
            // The next time of a cron may be another now.
            self.crons.forget();
        }
    }

    async fn write(
        &mut self,
        turn: &mut Turn,
        progress: Vec<(i64, crate::desk::Progress)>,
        room: &[(String, usize)],
        (extends, prunes): (bool, bool),
    ) -> Result<(), Error> {
        self.tables.writable().await?;
        self.tables.begin()?;
        // Nothing waits from here on: no other process writes in between.
        let now = now();
        turn.counted = self.write_ended(&turn.ended, now)?;
        self.write_progress(progress)?;
        let lease_time = self.desk.config().lease;
        let lease = now.saturating_add(i64::try_from(lease_time.as_millis()).unwrap_or(i64::MAX));
        if extends {
            self.extend(now, lease, &mut turn.lost)?;
        }
        let tables = Rc::clone(&self.tables);
        let table = JobTable(&*tables);
        if !self.desk.is_draining() && self.crons.are_due(&self.rules, now) {
            let desk = Arc::clone(&self.desk);
            let policy = |name: &str| desk.policy(name);
            self.crons.run(table, &self.rules, policy, now)?;
            self.desk.look_anew();
        }
        if self.next_due.is_some_and(|due| due <= now) && table.promote(now, BATCH_MAX)? > 0 {
            self.desk.look_anew();
        }
        self.next_due = table.next_due()?;
        if prunes {
            self.prune(now)?;
        }
        let table = JobTable(&*self.tables);
        if self.desk.is_closed() {
            let waiting = self.desk.take_waiting();
            let mine = self.still_mine(waiting.iter().map(|job| (job.id, job.token)))?;
            table.give_back(mine.into_keys())?;
            return Ok(());
        }
        for (queue, count) in room {
            let taken = table.take(queue, *count, now, lease)?;
            if taken.len() < *count {
                self.desk.is_empty(queue);
            }
            turn.taken.extend(taken);
        }
        Ok(())
    }

    /// Returns those of the jobs that this process still has, with their batches.
    fn still_mine(
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

    /// Returns the outcomes, if they are counted.
    fn write_ended(&self, ended: &[Ended], now: i64) -> Result<Vec<CountedAttempt>, Error> {
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
        let mut done = Vec::new();
        for Ended { job, .. } in ended.iter().filter(|one| !mine.contains_key(&one.job.id)) {
            self.tell_lost(&job.name, job.id, job.attempt);
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
        table.count_ends(&ends, now)?;
        Ok(counted)
    }

    #[cold]
    fn tell_lost(&self, name: &str, id: i64, attempt: u32) {
        if let Some(log) = &self.log {
            let text = format!(
                "job {name} {id}: attempt {attempt} does not count any more: it was cancelled, or another attempt has \
                 begun"
            );
            log.write_limited(Level::Warn, Cause::message("lost"), &Entry::text(text));
        }
    }

    fn write_progress(&self, progress: Vec<(i64, crate::desk::Progress)>) -> Result<(), Error> {
        let mine = self.still_mine(progress.iter().map(|(id, told)| (*id, told.token)))?;
        let table = JobTable(&*self.tables);
        for (id, told) in progress {
            if mine.contains_key(&id) {
                table.progress(id, told.progress, told.text)?;
            }
        }
        Ok(())
    }
}
