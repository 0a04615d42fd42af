//! The keeper of a process whose database is on a server.
//!
//! It does what the keeper on SQLite does, by statements that wait. While the server is away it goes on trying, less
//! and less often. What has ended meanwhile is written when the server is back, unless the lease has ended before and
//! another process has taken the job.

use super::denied::DeniedRates;
use super::holder::holder;
use super::people::ServerConsole;
use super::ring::{listen, ring};
use super::server_clock::ServerClock;
use super::turn::{TurnResults, TurnStatements};
use crate::crons::{CronRules, Crons};
use crate::desk::{Desk, Ended, Failure, Outcome};
use crate::failures::{FailedAttempt, attempts_of, failure_end, tell_lost};
use crate::keeper::meters::JobMeters;
use crate::keeper::upkeep::LEASE_ENDED;
use crate::limits::{AWAY_PAUSE_MAX, CLOSE_PATIENCE, ERROR_PAUSE, JUMP, LOOK, PRUNE};
use crate::table::Taken;
use sampan_host::Error;
use sampan_host::database::WaitingTables;
use sampan_host::log::{Entry, Level, Log};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// The keeper of a process.
pub(crate) struct ServerKeeper {
    desk: Arc<Desk>,
    tables: Rc<dyn WaitingTables>,
    console: ServerConsole,
    log: Option<Rc<dyn Log>>,
    /// The name of this process in the rows of jobs that it has taken.
    holder: String,
    clock: ServerClock,
    /// The time when the next job is due that is due later, by the server's clock.
    next_due: Option<i64>,
    crons: Crons,
    rules: CronRules,
    looked: Option<Instant>,
    extended: Instant,
    /// The time when old rows were removed; `None` while there are more.
    pruned: Option<Instant>,
    /// No lease of another is taken to have ended before this.
    patient_until: Instant,
    /// The turns that have failed, one after the other.
    failures: Option<Failures>,
    denied: DeniedRates,
    /// True if this process has added jobs which the others are told of where it does not take them.
    has_added: bool,
    meters: Option<JobMeters>,
}

/// Turns that have failed one after the other.
struct Failures {
    count: u32,
    /// The beginning of the first: what it wrote may have been committed.
    since: Instant,
}

impl ServerKeeper {
    pub(crate) fn new(
        desk: Arc<Desk>,
        tables: Rc<dyn WaitingTables>,
        log: Option<Rc<dyn Log>>,
    ) -> Self {
        let begun = Instant::now();
        Self {
            desk,
            console: ServerConsole(Rc::clone(&tables)),
            tables,
            log,
            holder: holder(),
            clock: ServerClock::new(),
            next_due: None,
            crons: Crons::default(),
            rules: CronRules::new(),
            looked: None,
            extended: begun,
            pruned: begun.checked_sub(PRUNE),
            patient_until: begun,
            failures: None,
            denied: DeniedRates::default(),
            has_added: false,
            meters: None,
        }
    }

    /// Measures jobs from now on.
    pub(crate) fn measured(self, meters: Option<JobMeters>) -> Self {
        Self { meters, ..self }
    }

    /// Keeps jobs until the desk is closed.
    pub(crate) async fn keep(self) {
        let listening = listen(Arc::clone(&self.desk), Rc::clone(&self.tables));
        let listening = tokio::task::spawn_local(listening);
        self.keep_listening().await;
        listening.abort();
    }

    async fn keep_listening(mut self) {
        loop {
            let is_closing = self.desk.is_closed();
            let begun = Instant::now();
            let pause = match self.turn().await {
                Ok(has_done) => {
                    self.tell_back();
                    if std::mem::take(&mut self.has_added) && self.desk.may_have_more() {
                        ring(&self.desk, &self.tables);
                    }
                    if let Some(meters) = &mut self.meters {
                        meters.look_waiting(self.console.counts()).await;
                    }
                    if has_done && !is_closing {
                        continue;
                    }
                    self.pause()
                }
                Err(error) => self.tell_failed(&error, begun),
            };
            let is_patient = |failures: &Failures| failures.since.elapsed() < CLOSE_PATIENCE;
            if is_closing && !self.failures.as_ref().is_some_and(is_patient) {
                return;
            }
            let is_away = self.failures.is_some();
            let until = Instant::now() + pause;
            loop {
                let left = until.saturating_duration_since(Instant::now());
                let woken = timeout(left, self.desk.keeper.notified()).await.is_ok();
                // What is added or ends cannot be written while the server is away.
                if !woken || !is_away || self.desk.is_closed() {
                    break;
                }
            }
        }
    }

    /// Returns how long there is nothing to do unless something happens.
    fn pause(&self) -> Duration {
        let next = self.next_due.into_iter().chain(self.crons.next()).min();
        self.desk.pause(next, self.clock.now())
    }

    /// Says once that the server is away. Returns the pause until the next try.
    #[cold]
    fn tell_failed(&mut self, error: &Error, begun: Instant) -> Duration {
        let failures = self.failures.get_or_insert(Failures {
            count: 0,
            since: begun,
        });
        failures.count = failures.count.saturating_add(1);
        let doubled = ERROR_PAUSE.saturating_mul(1 << (failures.count - 1).min(10));
        if failures.count == 1
            && let Some(log) = &self.log
        {
            let text = format!("jobs: {error}; trying again until it succeeds");
            log.write(Level::Error, &Entry::text(text));
        }
        doubled.min(AWAY_PAUSE_MAX)
    }

    fn tell_back(&mut self) {
        if self.failures.take().is_some()
            && let Some(log) = &self.log
        {
            let text = "jobs: the database takes jobs again";
            log.write(Level::Info, &Entry::text(text.to_owned()));
        }
    }

    /// Makes one transaction, if there is something to do. Returns false if there was not.
    ///
    /// # Errors
    /// The database's own. What ended is kept, and written later.
    pub(crate) async fn turn(&mut self) -> Result<bool, Error> {
        let config = self.desk.config();
        let is_first = self.looked.is_none();
        let is_look = self.looked.is_none_or(|looked| looked.elapsed() >= LOOK)
            || self.next_due.is_some_and(|due| due <= self.clock.now());
        self.has_added |= self.desk.take_added();
        let is_look = self.desk.take_news() || is_look;
        if is_look {
            self.desk.look_anew();
            self.rules = self.desk.crons();
        }
        if let Some(failures) = &self.failures {
            // Others had no chance to extend their leases either.
            self.patient_until = Instant::now() + config.lease;
            let since = failures.since.checked_sub(config.lease);
            self.extended = since.unwrap_or(self.extended);
        }
        let extends = self.extended.elapsed() >= config.lease / 3 || self.desk.take_doubt();
        let prunes = self.pruned.is_none_or(|pruned| pruned.elapsed() >= PRUNE);
        if !is_first && !self.desk.is_draining() {
            self.run_crons().await?;
        }
        let (ended, progress) = self.desk.take_ended();
        let is_closed = self.desk.is_closed();
        let room = match self.desk.is_draining() {
            true => Vec::new(),
            false => self.denied.without(self.desk.room(), &config),
        };
        let held = extends.then(|| self.desk.held());
        let mut turn = TurnStatements::default();
        turn.progress(&progress);
        let words = turn.end(&ended, &self.desk, self.clock.now());
        if let Some(failures) = &self.failures {
            let known = self.desk.known().into_iter();
            let known = known.chain(ended.iter().map(|one| one.job.id));
            turn.give_back_unknown(known, &self.holder, failures.since.elapsed() + JUMP);
        }
        if let Some(held) = &held {
            turn.extend(held, &config);
            if Instant::now() >= self.patient_until && !is_closed {
                turn.reclaim(&self.desk.names(), &self.holder, &config);
            }
        }
        if is_look || !ended.is_empty() {
            turn.end_batches();
        }
        let is_again = |one: &Ended| one.outcome != Outcome::Done;
        if is_look || ended.iter().any(is_again) {
            turn.look();
        }
        let mut given_back = self.desk.take_late();
        if is_closed {
            given_back.extend(self.desk.take_waiting());
        }
        turn.give_back(&given_back);
        turn.lock_rates(&room, &config, &given_back, &ended);
        if self.failures.is_none() && !self.denied.are() {
            // Else this may have been committed before.
            turn.give_back_starts(&given_back, &ended);
        }
        let asked = Instant::now();
        if !is_closed {
            turn.take(&room, &self.holder, &config);
        }
        if prunes {
            turn.prune(&config);
            // Not while old rows are removed again and again.
            if self.pruned.is_some() {
                turn.move_strays(&self.desk.queues());
            }
        }
        let results = match turn.run(&*self.tables).await {
            Ok(results) => results,
            Err(error) => {
                self.desk.put_back(ended);
                self.desk.put_back_progress(progress);
                self.desk.put(given_back);
                self.looked = None;
                self.crons.forget();
                let are_denied = self.denied.tell(&error, self.log.as_deref());
                let goes_on = are_denied && self.failures.is_none() && !is_closed;
                return if goes_on { Ok(true) } else { Err(error) };
            }
        };
        if extends {
            self.extended = asked;
        }
        if prunes {
            self.pruned = (!results.has_more_old).then_some(asked);
        }
        if !given_back.is_empty() {
            // The thread that found a job late waits for this.
            self.desk.threads.notify_one();
        }
        if let (Some(held), Some(mine)) = (held, &results.mine) {
            let lost: Vec<i64> = held.into_keys().filter(|id| !mine.contains(id)).collect();
            for (id, name, attempt) in self.desk.lose(&lost) {
                tell_lost(self.log.as_deref(), &name, id, attempt);
            }
        }
        if let Some(meters) = &mut self.meters {
            let counted = ended.iter().zip(words).filter_map(|(one, word)| {
                let is_counted = results.counted.contains(&(one.job.id, one.job.token));
                Some((one.job.queue.clone(), word.filter(|_| is_counted)?))
            });
            meters.ended(counted.collect());
        }
        // The crons follow once the server's clock is known.
        Ok(self.apply(results, ended, &room, asked) || is_first)
    }

    /// Adds the jobs of crons that are due.
    async fn run_crons(&mut self) -> Result<(), Error> {
        if !self.crons.are_due(&self.rules, self.clock.now()) {
            return Ok(());
        }
        let desk = Arc::clone(&self.desk);
        let policy = |name: &str| desk.policy(name);
        let tables = Rc::clone(&self.tables);
        let ran = self
            .crons
            .run_waiting(&*tables, &self.rules, policy, self.clock.now());
        ran.await?;
        self.desk.look_anew();
        Ok(())
    }

    /// Takes note of what a turn has done. Returns whether there may be more to do at once.
    fn apply(
        &mut self,
        results: TurnResults,
        ended: Vec<Ended>,
        room: &[(String, usize)],
        asked: Instant,
    ) -> bool {
        let mut has_done = !results.counted.is_empty();
        let mut later = Vec::new();
        for mut one in ended {
            let key = (one.job.id, one.job.token);
            if results.locked.contains(&key) {
                // Its start is given back.
                one.job.slot = None;
                later.push(one);
            } else if !results.counted.contains(&key) && self.failures.is_none() {
                let job = &one.job;
                tell_lost(self.log.as_deref(), &job.name, job.id, job.attempt);
            }
        }
        self.desk.put_back(later);
        if let Some(look) = results.look {
            self.looked = Some(asked);
            self.next_due = look.next_due;
            if self.clock.see(look.now, asked) {
                self.note_jump();
            }
            has_done |= look.has_more;
        }
        for (queue, millis) in &results.full {
            self.desk.is_full(queue, *millis);
        }
        for (queue, room) in room {
            let is_full = results.full.iter().any(|(full, _)| full == queue);
            let taken = results.taken.iter().filter(|job| job.queue == *queue);
            match taken.count() < *room {
                true if is_full => {}
                true => self.desk.is_empty(queue),
                false => has_done = true,
            }
        }
        if results.has_moved {
            self.desk.look_anew();
            has_done = true;
        }
        if results.has_followers {
            // As jobs that a script adds: other processes are told of those that this one does not take.
            self.desk.tell();
        }
        has_done |= !results.taken.is_empty();
        self.desk.put(results.taken);
        has_done |= !results.reclaimed.is_empty();
        let lost = results.reclaimed.into_iter();
        let lost = lost.map(|job| self.lost_attempt(job));
        self.desk.put_back(lost.collect());
        has_done
    }

    /// The end of an attempt whose process has left it.
    fn lost_attempt(&self, job: Taken) -> Ended {
        let mut failure = Failure {
            error: LEASE_ENDED.to_owned(),
            ..Failure::default()
        };
        let attempt = (job.name.as_str(), job.attempt);
        let end = failure_end(&self.desk, attempt, &failure, self.clock.now());
        let pause = end.pause.map(|millis| u64::try_from(millis).unwrap_or(0));
        failure.again = pause.map(Duration::from_millis);
        if let Some(log) = &self.log {
            let failed = FailedAttempt {
                id: job.id,
                name: &job.name,
                attempt: job.attempt,
                attempts: attempts_of(&self.desk, &job.name),
                again: failure.again,
                error: LEASE_ENDED,
            };
            failed.report(&**log);
        }
        let outcome = Outcome::Failed(failure);
        Ended { job, outcome }
    }

    /// After a jump of the server's clock, or with another server, leases may seem to have ended: others get the time
    /// to extend them.
    fn note_jump(&mut self) {
        let lease = self.desk.config().lease;
        let at = Instant::now();
        self.patient_until = at + lease;
        // Its own are extended at once.
        self.extended = at.checked_sub(lease).unwrap_or(self.extended);
        self.desk.open_queues();
        // The next time of a cron may be another now.
        self.crons.forget();
    }
}
