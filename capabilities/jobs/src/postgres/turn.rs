//! One turn of a keeper on a server: statements that make one transaction, in one round trip, and their results.

use super::columns::{maybe_texts, no_tables, numbers, set_time, texts, without_nul};
use super::rates::{GIVE_BACK_STARTS, LOCK, OPENS, TAKE_RATED};
use super::results::{each, is_true, taken};
use super::statements::{
    END, END_BATCHES, EXTEND, GIVE_BACK, GIVE_BACK_UNKNOWN, MOVE_STRAYS, PROGRESS, PROMOTE, PRUNE,
    RECLAIM, SHORTEN, TAKE,
};
use crate::config::{JobsConfig, QueueRate};
use crate::desk::{Desk, Ended, Outcome, Progress};
use crate::failures::{FailureEnd, failure_end};
use crate::limits::{
    BATCH_MAX, LATE_MAX, LEASE_MILLIS_MAX, LEFT_MILLIS, STRAYS_MAX, TAKEN_ARGS_BYTES_MAX,
};
use crate::table::rates::unused;
use crate::table::{Taken, int, maybe_int, small, state, text};
use sampan_host::database::{TableResult, WaitingTables};
use sampan_host::{Error, Value};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Instant;

/// The statements of a turn.
#[derive(Default)]
pub(super) struct TurnStatements {
    statements: Vec<(String, Value)>,
    ends: Option<usize>,
    batches: Option<usize>,
    extended: Option<usize>,
    reclaimed: Option<usize>,
    looked: Option<usize>,
    taken: Option<usize>,
    rated: Vec<RatedQueue>,
    moved: Option<usize>,
    pruned: Vec<usize>,
}

/// The statements that take jobs of a queue with a rate.
struct RatedQueue {
    name: String,
    taken: usize,
    opens: usize,
}

/// The results of a turn.
#[derive(Default)]
pub(super) struct TurnResults {
    /// The ends that counted.
    pub(super) counted: HashSet<(i64, i64)>,
    /// The ends whose rows another process has locked: to be written later.
    pub(super) locked: HashSet<(i64, i64)>,
    /// The jobs that this process still has, where leases were extended.
    pub(super) mine: Option<HashSet<i64>>,
    /// The jobs that were taken away from processes that left them.
    pub(super) reclaimed: Vec<Taken>,
    /// True if jobs were added that follow batches.
    pub(super) has_followers: bool,
    pub(super) look: Option<Look>,
    pub(super) taken: Vec<Taken>,
    /// The queues whose rate lets no more jobs start, each with the time until it does, in milliseconds.
    pub(super) full: Vec<(String, i64)>,
    /// True if jobs were moved to the queue with which their name is declared.
    pub(super) has_moved: bool,
    /// True if there may be more old jobs to be removed.
    pub(super) has_more_old: bool,
}

/// The findings of a look at the table.
pub(super) struct Look {
    /// The server's clock, in milliseconds since 1970.
    pub(super) now: i64,
    /// True if more jobs are due than were made ready.
    pub(super) has_more: bool,
    /// The time when the next job is due that is due later.
    pub(super) next_due: Option<i64>,
}

fn count(count: usize) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

fn millis(time: std::time::Duration) -> Value {
    Value::Int(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}

/// Returns the jobs that have not begun: those that are given back, and those whose name this process does not declare.
fn unbegun<'a>(given_back: &'a [Taken], ended: &'a [Ended]) -> impl Iterator<Item = &'a Taken> {
    let is_undeclared = |one: &&Ended| one.outcome == Outcome::Undeclared;
    let undeclared = ended.iter().filter(is_undeclared).map(|one| &one.job);
    given_back.iter().chain(undeclared)
}

impl TurnStatements {
    fn add(&mut self, sql: &str, params: Vec<Value>) -> usize {
        self.statements.push((sql.to_owned(), Value::List(params)));
        self.statements.len() - 1
    }

    /// Writes how attempts have ended. Returns the outcome of each for those who measure; nothing where none was made.
    pub(super) fn end(
        &mut self,
        ended: &[Ended],
        desk: &Desk,
        now: i64,
    ) -> Vec<Option<&'static str>> {
        if ended.is_empty() {
            return Vec::new();
        }
        let (mut outcomes, mut pauses, mut errors, mut args) = (vec![], vec![], vec![], vec![]);
        for Ended { job, outcome } in ended {
            let (word, pause, error, new_args) = match outcome {
                Outcome::Done => ("done", 0, None, None),
                Outcome::Undeclared => ("off", 0, None, None),
                Outcome::Failed(failure) => {
                    let FailureEnd { kept, pause } =
                        failure_end(desk, (&job.name, job.attempt), failure, now);
                    let word = if pause.is_some() { "again" } else { "dead" };
                    let args = failure.args.clone().map(without_nul);
                    (word, pause.unwrap_or(0), Some(without_nul(kept)), args)
                }
            };
            outcomes.push(word);
            pauses.push(pause);
            errors.push(error);
            args.push(new_args);
        }
        let measured = outcomes.iter().map(|word| match *word {
            "off" => None,
            "again" => Some("failed"),
            word => Some(word),
        });
        let measured = measured.collect();
        let is_kept = Value::Bool(desk.config().keep_done_millis > 0);
        let params = vec![
            set_time(),
            numbers(ended.iter().map(|one| one.job.id)),
            numbers(ended.iter().map(|one| one.job.token)),
            texts(outcomes),
            numbers(pauses),
            maybe_texts(errors),
            maybe_texts(args),
            is_kept.clone(),
            is_kept,
        ];
        self.ends = Some(self.add(END, params));
        measured
    }

    /// Adds the jobs that follow batches.
    pub(super) fn end_batches(&mut self) {
        self.batches = Some(self.add(END_BATCHES, vec![count(BATCH_MAX)]));
    }

    /// Writes how far jobs are. It comes before their ends: only a job that runs takes progress.
    pub(super) fn progress(&mut self, progress: &[(i64, Progress)]) {
        if progress.is_empty() {
            return;
        }
        let params = vec![
            numbers(progress.iter().map(|(id, _)| *id)),
            numbers(progress.iter().map(|(_, told)| told.token)),
            Value::List(
                progress
                    .iter()
                    .map(|(_, told)| Value::Float(told.progress))
                    .collect(),
            ),
            maybe_texts(
                progress
                    .iter()
                    .map(|(_, told)| told.text.clone().map(without_nul)),
            ),
        ];
        self.add(PROGRESS, params);
    }

    /// Makes jobs ready that are due, and looks when others are.
    pub(super) fn look(&mut self) {
        self.looked = Some(self.add(PROMOTE, vec![set_time(), count(BATCH_MAX)]));
    }

    /// Takes jobs for which there is room.
    pub(super) fn take(&mut self, room: &[(String, usize)], holder: &str, config: &JobsConfig) {
        let rate = |queue: &str| config.rule(queue).rate;
        for (queue, room) in room {
            if let Some(rate) = rate(queue) {
                self.take_rated((queue, *room), rate, (holder, config));
            }
        }
        let plain = room.iter().filter(|(queue, _)| rate(queue).is_none());
        let room: Vec<&(String, usize)> = plain.collect();
        if room.is_empty() {
            return;
        }
        let params = vec![
            texts(room.iter().map(|(queue, _)| queue.as_str())),
            Value::List(room.iter().map(|(_, room)| count(*room)).collect()),
            holder.into(),
            millis(config.lease),
            count(TAKEN_ARGS_BYTES_MAX),
        ];
        self.taken = Some(self.add(TAKE, params));
    }

    /// Takes jobs of a queue with a rate, and counts their starts.
    fn take_rated(
        &mut self,
        (queue, room): (&str, usize),
        rate: QueueRate,
        (holder, config): (&str, &JobsConfig),
    ) {
        let (most, period) = (Value::Int(i64::from(rate.count)), rate.period_millis());
        let params = vec![
            set_time(),
            Value::Int(period),
            queue.into(),
            count(room),
            most.clone(),
            holder.into(),
            millis(config.lease),
            count(TAKEN_ARGS_BYTES_MAX),
        ];
        let taken = self.add(TAKE_RATED, params);
        let params = vec![set_time(), Value::Int(period), queue.into(), most];
        let opens = self.add(OPENS, params);
        self.rated.push(RatedQueue {
            name: queue.to_owned(),
            taken,
            opens,
        });
    }

    /// Waits until no other process counts starts of the queues that take jobs, or get starts back.
    pub(super) fn lock_rates(
        &mut self,
        room: &[(String, usize)],
        config: &JobsConfig,
        given_back: &[Taken],
        ended: &[Ended],
    ) {
        let room = room.iter().map(|(queue, _)| queue.as_str());
        let room = room.filter(|queue| config.rule(queue).rate.is_some());
        let unused = unused(unbegun(given_back, ended));
        let queues: BTreeSet<&str> = room.chain(unused.keys().map(|(queue, _)| *queue)).collect();
        if !queues.is_empty() {
            self.add(LOCK, vec![texts(queues)]);
        }
    }

    /// Takes back the starts of jobs that have not begun.
    pub(super) fn give_back_starts(&mut self, given_back: &[Taken], ended: &[Ended]) {
        for ((queue, at), jobs) in unused(unbegun(given_back, ended)) {
            let params = vec![Value::Int(jobs), queue.into(), Value::Int(at)];
            self.add(GIVE_BACK_STARTS, params);
        }
    }

    /// Extends the leases of jobs.
    pub(super) fn extend(&mut self, held: &HashMap<i64, i64>, config: &JobsConfig) {
        if held.is_empty() {
            return;
        }
        let params = vec![
            numbers(held.keys().copied()),
            numbers(held.values().copied()),
            millis(config.lease),
        ];
        self.extended = Some(self.add(EXTEND, params));
    }

    /// Takes jobs away from processes that have left them: those of the names that this process declares.
    pub(super) fn reclaim(&mut self, names: &[String], holder: &str, config: &JobsConfig) {
        let lease = millis(config.lease);
        let longest = Value::Int(i64::try_from(LEASE_MILLIS_MAX).unwrap_or(i64::MAX));
        self.add(SHORTEN, vec![longest, lease.clone()]);
        let names = texts(names.iter().map(String::as_str));
        let left = Value::Int(LEFT_MILLIS);
        let params = vec![names, left, count(BATCH_MAX), holder.into(), lease];
        self.reclaimed = Some(self.add(RECLAIM, params));
    }

    /// Gives back jobs that were not begun.
    pub(super) fn give_back(&mut self, jobs: &[Taken]) {
        if jobs.is_empty() {
            return;
        }
        let params = vec![
            numbers(jobs.iter().map(|job| job.id)),
            numbers(jobs.iter().map(|job| job.token)),
        ];
        self.add(GIVE_BACK, params);
    }

    /// Gives back jobs of this process that were taken since a time, if they are not among those that it knows.
    pub(super) fn give_back_unknown(
        &mut self,
        known: impl Iterator<Item = i64>,
        holder: &str,
        since: std::time::Duration,
    ) {
        let params = vec![holder.into(), numbers(known), millis(since)];
        self.add(GIVE_BACK_UNKNOWN, params);
    }

    /// Removes jobs that were kept long enough.
    pub(super) fn prune(&mut self, config: &JobsConfig) {
        for (state, millis) in [
            (state::DONE, config.keep_done_millis),
            (state::DEAD, config.keep_millis),
            (state::CANCELLED, config.keep_millis),
        ] {
            let params = vec![state.into(), Value::Int(millis), count(BATCH_MAX)];
            let at = self.add(PRUNE, params);
            self.pruned.push(at);
        }
    }

    /// Moves jobs from queues that are not among those of `declared` to the queue with which their name is declared.
    pub(super) fn move_strays(&mut self, declared: &[(String, String)]) {
        let params = vec![
            texts(declared.iter().map(|(name, _)| name.as_str())),
            texts(declared.iter().map(|(_, queue)| queue.as_str())),
            count(STRAYS_MAX),
        ];
        self.moved = Some(self.add(MOVE_STRAYS, params));
    }

    /// Makes the transaction.
    pub(super) async fn run(self, tables: &dyn WaitingTables) -> Result<TurnResults, Error> {
        if self.statements.is_empty() {
            return Ok(TurnResults::default());
        }
        let asked = Instant::now();
        let results = tables.run_all(self.statements).await?;
        // The server counts starts at some time between. By the time of the question, the jobs of a distant server
        // would be late again and again.
        let has_stalled = asked.elapsed() >= LATE_MAX;
        let counted = if has_stalled { asked } else { Instant::now() };
        let results = results.ok_or_else(no_tables)?;
        let rows = |at: Option<usize>| at.and_then(|at| results.get(at)).map(|one| &one.rows);
        let mut read = TurnResults::default();
        for (rows, at) in rows(self.ends).into_iter().flat_map(each) {
            let id = (int(rows.cell(at, 0)), int(rows.cell(at, 3)));
            if is_true(rows, at, 1) {
                read.counted.insert(id);
            } else if is_true(rows, at, 2) {
                read.locked.insert(id);
            }
        }
        let mine = rows(self.extended);
        read.mine = mine.map(|rows| each(rows).map(|(rows, at)| int(rows.cell(at, 0))).collect());
        let reclaimed = rows(self.reclaimed).into_iter().flat_map(each);
        read.reclaimed = reclaimed
            .map(|(rows, at)| Taken {
                id: int(rows.cell(at, 0)),
                name: text(rows.cell(at, 1)),
                queue: text(rows.cell(at, 2)),
                args: None,
                attempt: small(rows.cell(at, 3)),
                token: int(rows.cell(at, 4)),
                trace: None,
                slot: None,
            })
            .collect();
        if let Some(rows) = rows(self.looked).filter(|rows| !rows.is_empty()) {
            read.look = Some(Look {
                now: int(rows.cell(0, 0)),
                has_more: int(rows.cell(0, 1)) >= BATCH_MAX as i64,
                next_due: maybe_int(rows.cell(0, 2)),
            });
        }
        for queue in &self.rated {
            let jobs = rows(Some(queue.taken)).map(|rows| taken(rows, Some(counted)));
            read.taken.extend(jobs.into_iter().flatten());
            let opens = rows(Some(queue.opens)).filter(|rows| !rows.is_empty());
            let opens = opens.map(|rows| (queue.name.clone(), int(rows.cell(0, 0))));
            read.full.extend(opens);
        }
        let jobs = rows(self.taken).map(|rows| taken(rows, None));
        read.taken.extend(jobs.into_iter().flatten());
        let changes = |at: &usize| results.get(*at).map_or(0, |one: &TableResult| one.changes);
        read.has_moved = self.moved.as_ref().is_some_and(|at| changes(at) > 0);
        read.has_followers = self.batches.as_ref().is_some_and(|at| changes(at) > 0);
        read.has_more_old = self.pruned.iter().any(|at| changes(at) >= BATCH_MAX as i64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
