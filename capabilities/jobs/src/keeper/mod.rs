//! The keeper of a process: takes jobs that are due and leaves them at the desk, writes how those ended that ran, and
//! extends the leases of those that run. All of that goes into one transaction, again and again.
//!
//! It sleeps until something was added and committed, something has ended, or something is due. Other processes ring
//! for what they add and do not take, and for what they cancel. What they do not ring for is found within [`LOOK`].

mod clock;
mod ends;
pub(crate) mod meters;
pub(crate) mod upkeep;

use crate::crons::{CronRules, Crons};
use crate::desk::{Desk, Ended, Progress};
use crate::limits::{BATCH_MAX, CLOSE_PATIENCE, ERROR_PAUSE, HEAR_AGAIN, LOOK, PRUNE};
use crate::queue::now;
use crate::table::{JobTable, Taken};
use clock::ClockWatch;
use meters::{CountedAttempt, JobMeters};
use sampan_host::database::AppTables;
use sampan_host::log::{Cause, Entry, Level, Log};
use sampan_host::{Error, ErrorKind, LocalFuture, Outbox, Verdict};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::{sleep, timeout};

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
    /// The time when old rows were removed; `None` while there are more.
    pruned: Option<Instant>,
    clock: ClockWatch,
    /// No lease of another is taken to have ended before this.
    patient_until: Instant,
    /// True if this process has added jobs which the others are told of where it does not take them.
    has_added: bool,
    meters: Option<JobMeters>,
}

/// The changes that one transaction makes.
#[derive(Default)]
struct KeeperChanges {
    ended: Vec<Ended>,
    progress: Vec<(i64, Progress)>,
    taken: Vec<Taken>,
    /// The jobs that waited for a thread when the desk was closed, or waited too long.
    given_back: Vec<Taken>,
    /// The queues whose rate lets no more jobs start, each with the time until it does, in milliseconds.
    full: Vec<(String, i64)>,
    /// Those whose lease ended.
    lost: Vec<LostAttempt>,
    /// The outcomes of attempts, for those who measure.
    counted: Vec<CountedAttempt>,
    /// The error of the first queue whose jobs could not be taken. Those of the others are.
    failure: Option<Error>,
}

/// The parts of a turn that it has only now and then.
#[derive(Clone, Copy)]
struct Upkeep {
    /// Leases are extended.
    extends: bool,
    /// Old rows are removed.
    prunes: bool,
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
            pruned: begun.checked_sub(PRUNE),
            clock: ClockWatch::new(),
            patient_until: begun,
            has_added: false,
            meters: None,
        }
    }

    /// Measures jobs from now on.
    pub(crate) fn measured(self, meters: Option<JobMeters>) -> Self {
        Self { meters, ..self }
    }

    /// Keeps jobs until the desk is closed.
    pub(crate) async fn keep(mut self) {
        self.desk.set_keeper(true);
        let mut hearing: Option<(JoinHandle<()>, Instant)> = None;
        let mut closing: Option<Instant> = None;
        loop {
            let is_closing = self.desk.is_closed();
            if is_closing && closing.is_none() {
                closing = Some(Instant::now());
            }
            match self.turn().await {
                Ok(has_done) => {
                    // The database is open now. Listening ends at once where the system has no room for it.
                    let is_over = hearing.as_ref().is_none_or(|(task, begun)| {
                        task.is_finished() && begun.elapsed() >= HEAR_AGAIN
                    });
                    if is_over {
                        hearing = Some((spawn_local(self.hear()), Instant::now()));
                    }
                    self.ring();
                    if has_done && !is_closing {
                        continue;
                    }
                }
                Err(error) => {
                    if let Some(log) = &self.log {
                        let text = format!("jobs: {error}");
                        let cause = Cause::message(error.message());
                        log.write_limited(Level::Error, cause, &Entry::text(text));
                    }
                    let is_patient = closing.is_none_or(|begun| begun.elapsed() < CLOSE_PATIENCE);
                    if is_patient {
                        sleep(ERROR_PAUSE).await;
                    }
                    if is_closing && is_patient {
                        continue;
                    }
                }
            }
            if is_closing {
                self.desk.set_keeper(false);
                // For jobs that were given back, or added just now.
                self.tables.ring();
                hearing.iter().for_each(|(task, _)| task.abort());
                return;
            }
            let _ = timeout(self.pause(), self.desk.keeper.notified()).await;
        }
    }

    /// Listens for rings of processes.
    fn hear(&self) -> LocalFuture<()> {
        let desk = Arc::clone(&self.desk);
        self.tables.hear(Box::new(move || desk.hear_ring()))
    }

    /// Tells other processes of jobs that this one has added and has not taken.
    fn ring(&mut self) {
        let has_added = std::mem::take(&mut self.has_added);
        if has_added && (self.desk.is_draining() || self.desk.may_have_more()) {
            self.tables.ring();
        }
    }

    /// Returns how long there is nothing to do unless something happens.
    fn pause(&self) -> Duration {
        let next = self.next_due.into_iter().chain(self.crons.next()).min();
        self.desk.pause(next, now())
    }

    /// Makes one transaction, if there is something to do. Returns false if there was not.
    ///
    /// # Errors
    /// The database's own. Nothing is written then, unless only the jobs of some queues could not be taken. Ends are
    /// kept, and written later.
    pub(crate) async fn turn(&mut self) -> Result<bool, Error> {
        let lease_time = self.desk.config().lease;
        self.look_at_clock(lease_time);
        let is_look = self.looked.is_none_or(|looked| looked.elapsed() >= LOOK);
        if self.desk.take_news() || is_look {
            // Behind the news: queues are looked at anew for all that is known to be added now.
            self.has_added |= self.desk.take_added();
            self.desk.look_anew();
            self.next_due = JobTable(&*self.tables).next_due()?;
            self.looked = Some(Instant::now());
            self.rules = self.desk.crons();
        }
        if self.desk.take_heard() && self.has_cancelled()? {
            self.desk.doubt();
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
        let mut turn = KeeperChanges {
            ended,
            progress,
            given_back: self.desk.take_late(),
            ..KeeperChanges::default()
        };
        let upkeep = Upkeep { extends, prunes };
        let is_idle = turn.ended.is_empty()
            && turn.progress.is_empty()
            && turn.given_back.is_empty()
            && !is_due;
        let has_work = match is_idle && !self.desk.is_closed() {
            // So far nothing is to be written: a look does not take the write connection.
            true => self.finds_work(&mut room, upkeep),
            false => Ok(true),
        };
        let made = match has_work {
            Ok(false) => return Ok(false),
            Ok(true) => self.make(&mut turn, &room, upkeep).await,
            Err(error) => Err(error),
        };
        if let Err(error) = made {
            self.take_back(turn, upkeep);
            return Err(error);
        }
        if let Some(meters) = &mut self.meters {
            meters.ended(turn.counted);
        }
        self.tell_expired(&turn.lost);
        for (queue, millis) in turn.full {
            self.desk.is_full(&queue, millis);
        }
        self.desk.put_committed(turn.taken);
        if !turn.given_back.is_empty() {
            // The thread that found a job late waits for this.
            self.desk.threads.notify_one();
        }
        match turn.failure {
            Some(error) => Err(error),
            None => Ok(true),
        }
    }

    /// Reports whether a transaction is needed where nothing has ended. Only the queues with jobs that can start stay
    /// in `room`.
    fn finds_work(
        &mut self,
        room: &mut Vec<(String, usize)>,
        Upkeep { extends, prunes }: Upkeep,
    ) -> Result<bool, Error> {
        let table = JobTable(&*self.tables);
        let mut found = Vec::new();
        for (queue, count) in std::mem::take(room) {
            match table.any_ready(&queue)? {
                true => found.push((queue, count)),
                false => self.desk.is_empty(&queue),
            }
        }
        *room = found;
        let has_held = extends && !self.desk.held().is_empty();
        let has_expired = extends && self.has_expired()?;
        if extends && !has_held && !has_expired {
            self.extended = Instant::now();
        }
        Ok(!room.is_empty() || has_held || has_expired || prunes)
    }

    /// Makes the transaction of a turn, and waits for its commit.
    async fn make(
        &mut self,
        turn: &mut KeeperChanges,
        room: &[(String, usize)],
        upkeep: Upkeep,
    ) -> Result<(), Error> {
        let asked = Instant::now();
        self.tables.writable().await?;
        self.tables.begin()?;
        self.note_wait(asked.elapsed());
        let tables = Rc::clone(&self.tables);
        // The group is committed with the writes of others, also where those of this turn fail.
        let written = JobTable(&*tables).atomically(|| self.write(turn, room, upkeep));
        if let Err(error) = written {
            return Err(turn.failure.take().unwrap_or(error));
        }
        match self.outbox.settled().await {
            Verdict::Committed => Ok(()),
            Verdict::Failed => Err(Error::new(ErrorKind::Internal, "a commit failed")),
        }
    }

    /// Takes back what a turn has taken out of the desk, and what it has noted, because none of it was written.
    fn take_back(&mut self, turn: KeeperChanges, upkeep: Upkeep) {
        self.desk.put_back(turn.ended);
        self.desk.put_back_progress(turn.progress);
        self.desk.put(turn.given_back);
        if upkeep.extends {
            self.desk.doubt();
        }
        (self.looked, self.pruned) = (None, None);
        self.crons.forget();
        // Others had no chance to extend their leases either.
        self.be_patient();
    }

    /// After a jump of the clock the leases of others may seem to have ended: they get the time to extend them.
    fn look_at_clock(&mut self, lease_time: Duration) {
        if self.clock.has_jumped() {
            self.be_patient();
            // Its own are extended at once.
            let before = Instant::now().checked_sub(lease_time);
            self.extended = before.unwrap_or(self.extended);
            self.looked = None;
            self.desk.open_queues();
            // The next time of a cron may be another now.
            self.crons.forget();
        }
    }

    /// Writes the changes of a turn. Nothing waits here: no other process writes in between.
    fn write(
        &mut self,
        turn: &mut KeeperChanges,
        room: &[(String, usize)],
        Upkeep { extends, prunes }: Upkeep,
    ) -> Result<(), Error> {
        let now = now();
        // Only a job that runs takes progress: its last is written before its end.
        self.write_progress(&turn.progress)?;
        turn.counted = self.write_ended(&turn.ended, now)?;
        let config = self.desk.config();
        let lease_millis = i64::try_from(config.lease.as_millis()).unwrap_or(i64::MAX);
        let lease = now.saturating_add(lease_millis);
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
            turn.given_back.extend(self.desk.take_waiting());
            return self.give_back(&turn.given_back);
        }
        self.give_back(&turn.given_back)?;
        for (queue, count) in room {
            let (taken, opens) = match config.rule(queue).rate {
                None => (table.take(queue, *count, now, lease), None),
                Some(rate) => match table.take_rated((queue, *count), rate, now, lease) {
                    Ok(rated) => (Ok(rated.taken), rated.opens_in_millis),
                    Err(error) => (Err(error), None),
                },
            };
            match taken {
                Ok(taken) => {
                    if let Some(millis) = opens {
                        turn.full.push((queue.clone(), millis));
                    } else if taken.len() < *count {
                        self.desk.is_empty(queue);
                    }
                    turn.taken.extend(taken);
                }
                // It has taken none. The jobs of other queues do not wait for those of this one.
                Err(error) => turn.failure = turn.failure.take().or(Some(error)),
            }
        }
        Ok(())
    }
}
