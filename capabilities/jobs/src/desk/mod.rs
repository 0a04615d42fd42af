//! The desk of a process: jobs that were taken and wait for a thread, and how those ended that ran.

mod entries;
mod outcomes;
mod queue_state;
mod rates;
mod signals;
mod traces;

use crate::config::JobsConfig;
use crate::crons::CronRules;
use crate::limits::LOST_AFTER;
use crate::table::Taken;
use crate::table::rates::StartSlot;
use entries::Held;
pub(crate) use entries::{Ended, Failure, Handed, Outcome, Progress};
use queue_state::QueueState;
use sampan_host::jobs::JobPolicy;
use sampan_host::trace::RemoteParent;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The desk of a process, for all its threads. It outlives reloads.
pub(crate) struct Desk {
    state: Mutex<DeskState>,
    /// Wakes the keeper.
    pub(crate) keeper: Notify,
    /// Wakes a thread that waits for a job.
    pub(crate) threads: Notify,
    /// True if jobs may have been added.
    news: AtomicBool,
    /// True if this process may have added jobs.
    has_added: AtomicBool,
    /// True if another process has rung.
    has_heard: AtomicBool,
    /// True if other processes are about to be told of jobs.
    is_ringing: AtomicBool,
    /// True if jobs that run may have been cancelled.
    is_in_doubt: AtomicBool,
    /// True if no thread takes a job any more.
    is_draining: AtomicBool,
    /// True if jobs that run are given up, because the process ends.
    is_cut: AtomicBool,
    is_closed: AtomicBool,
    /// True if this process takes jobs.
    has_keeper: AtomicBool,
    /// True if the tables on a server were made or found.
    has_tables: AtomicBool,
    /// The traces of the requests that added jobs here, by the numbers of the jobs; the oldest go first.
    traces: Mutex<BTreeMap<i64, RemoteParent>>,
}

struct DeskState {
    config: JobsConfig,
    policies: BTreeMap<String, JobPolicy>,
    /// The names whose jobs have no others with the same arguments.
    unique: BTreeSet<String>,
    crons: CronRules,
    waiting: VecDeque<Taken>,
    /// The jobs that have waited so long for a thread that their starts are to be counted anew.
    late: Vec<Taken>,
    /// The jobs that this process has taken, by id.
    held: HashMap<i64, Held>,
    ended: Vec<Ended>,
    progress: HashMap<i64, Progress>,
    queues: HashMap<String, QueueState>,
}

impl Desk {
    pub(crate) fn new(config: JobsConfig) -> Self {
        Self {
            state: Mutex::new(DeskState {
                config,
                policies: BTreeMap::new(),
                unique: BTreeSet::new(),
                crons: CronRules::new(),
                waiting: VecDeque::new(),
                late: Vec::new(),
                held: HashMap::new(),
                ended: Vec::new(),
                progress: HashMap::new(),
                queues: HashMap::new(),
            }),
            keeper: Notify::new(),
            threads: Notify::new(),
            news: AtomicBool::new(false),
            has_added: AtomicBool::new(false),
            has_heard: AtomicBool::new(false),
            is_ringing: AtomicBool::new(false),
            is_in_doubt: AtomicBool::new(false),
            is_draining: AtomicBool::new(false),
            is_cut: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            has_keeper: AtomicBool::new(false),
            has_tables: AtomicBool::new(false),
            traces: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, DeskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of the settings and the declarations that count from now on.
    pub(crate) fn serve(
        &self,
        config: JobsConfig,
        (policies, unique): (BTreeMap<String, JobPolicy>, BTreeSet<String>),
        crons: CronRules,
    ) {
        let mut state = self.lock();
        state.config = config;
        (state.policies, state.unique) = (policies, unique);
        state.crons = crons;
        drop(state);
        // A rate may be another now.
        self.open_queues();
        self.tell();
    }

    /// Returns the largest arguments of a job, in bytes.
    pub(crate) fn args_bytes_max(&self) -> usize {
        self.lock().config.args_bytes_max
    }

    pub(crate) fn config(&self) -> JobsConfig {
        self.lock().config.clone()
    }

    /// Returns the rules for the jobs of a name.
    pub(crate) fn policy(&self, name: &str) -> Option<JobPolicy> {
        self.lock().policies.get(name).cloned()
    }

    /// Reports whether there is one job of this name with the same arguments at a time.
    pub(crate) fn is_unique(&self, name: &str) -> bool {
        self.lock().unique.contains(name)
    }

    /// Returns the crons.
    pub(crate) fn crons(&self) -> CronRules {
        self.lock().crons.clone()
    }

    /// Returns the names that are declared.
    pub(crate) fn names(&self) -> Vec<String> {
        self.lock().policies.keys().cloned().collect()
    }

    /// Returns the names that are declared, each with its queue.
    pub(crate) fn queues(&self) -> Vec<(String, String)> {
        let state = self.lock();
        let all = state.policies.iter();
        all.map(|(name, policy)| (name.clone(), policy.queue.clone()))
            .collect()
    }

    /// Reports whether anything is declared.
    pub(crate) fn has_declarations(&self) -> bool {
        !self.lock().policies.is_empty()
    }

    /// Takes note that a queue has no more jobs that can start.
    pub(crate) fn is_empty(&self, queue: &str) {
        if let Some(queue) = self.lock().queues.get_mut(queue) {
            queue.may_have_more = false;
        }
    }

    /// Returns the queues that have room, each with the number of jobs that can be taken.
    pub(crate) fn room(&self) -> Vec<(String, usize)> {
        let mut state = self.lock();
        let DeskState {
            config,
            policies,
            queues,
            ..
        } = &mut *state;
        let mut names: Vec<&str> = policies
            .values()
            .map(|policy| policy.queue.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        let now = Instant::now();
        let rooms = names.into_iter().filter_map(|name| {
            if !queues.contains_key(name) {
                queues.insert(name.to_owned(), QueueState::new());
            }
            let queue = queues.get_mut(name)?;
            if !queue.may_have_more {
                return None;
            }
            queue.look_ahead();
            let rule = config.rule(name);
            if queue.opens(&rule, now).is_some() {
                return None;
            }
            let room = (rule.concurrency + queue.ahead).saturating_sub(queue.held);
            let waiting = queue.held.saturating_sub(queue.running);
            let room = room.min(queue.starts(&rule, now).saturating_sub(waiting));
            (room > 0).then(|| (name.to_owned(), room))
        });
        rooms.collect()
    }

    /// Reports whether some queue may have jobs that this process has not taken.
    pub(crate) fn may_have_more(&self) -> bool {
        let state = self.lock();
        state.queues.values().any(|queue| queue.may_have_more)
    }

    /// Puts jobs down that were taken.
    pub(crate) fn put(&self, jobs: Vec<Taken>) {
        if jobs.is_empty() {
            return;
        }
        let mut state = self.lock();
        for job in jobs {
            if let Some(queue) = state.queues.get_mut(&job.queue) {
                queue.held += 1;
            }
            let held = Held {
                token: job.token,
                name: job.name.clone(),
                attempt: job.attempt,
                queue: job.queue.clone(),
                given_up: Arc::default(),
                until: None,
            };
            state.held.insert(job.id, held);
            // The starts of some are counted: they begin before others, in the order in which they were taken.
            match job.slot {
                Some(slot) => {
                    let is_before = |other: StartSlot| other.taken <= slot.taken;
                    let waiting = &mut state.waiting;
                    let at = waiting.partition_point(|other| other.slot.is_some_and(is_before));
                    waiting.insert(at, job);
                }
                None => state.waiting.push_back(job),
            }
        }
        drop(state);
        self.threads.notify_one();
    }

    /// Takes the next job that may start. Others are told if there are more. Those whose starts are to be counted anew
    /// are laid aside: the keeper tells when that has happened.
    pub(crate) fn take(&self) -> Option<Handed> {
        if self.is_draining() {
            return None;
        }
        let mut state = self.lock();
        let now = Instant::now();
        let job = state.next(now);
        if !state.late.is_empty() {
            self.keeper.notify_one();
        }
        let job = job?;
        let DeskState {
            config,
            policies,
            waiting,
            queues,
            held,
            ..
        } = &mut *state;
        if let Some(queue) = queues.get_mut(&job.queue) {
            queue.start(&config.rule(&job.queue), now);
        }
        let timeout = policies
            .get(&job.name)
            .map_or(Duration::ZERO, |policy| policy.timeout);
        let given_up = held.get_mut(&job.id).map(|held| {
            held.until = Some(now + timeout + LOST_AFTER);
            Arc::clone(&held.given_up)
        });
        let has_more = !waiting.is_empty();
        drop(state);
        if has_more {
            self.threads.notify_one();
        }
        Some(Handed {
            job,
            given_up: given_up.unwrap_or_default(),
            until: None,
        })
    }

    /// Takes note of the end of an attempt.
    pub(crate) fn end(&self, job: Taken, outcome: Outcome) {
        let mut state = self.lock();
        state.forget(job.id, Some(job.token));
        state.ended.push(Ended { job, outcome });
        drop(state);
        self.keeper.notify_one();
        self.threads.notify_one();
    }

    /// Takes note of an attempt whose thread ended before it: another thread begins it anew.
    pub(crate) fn abandon(&self, job: &Taken) {
        self.lock().forget(job.id, Some(job.token));
        self.keeper.notify_one();
        self.threads.notify_one();
    }

    /// Gives up the jobs that run, because the process ends: each goes back to the table, and its attempt does not
    /// count.
    pub(crate) fn cut(&self) {
        self.is_cut.store(true, Ordering::Release);
        let state = self.lock();
        state.held.values().for_each(|held| held.given_up.tell());
    }

    /// Puts a job down again that was cut. Its start stays counted.
    pub(crate) fn put_down(&self, job: Taken) {
        self.lock().waiting.push_back(Taken { slot: None, ..job });
    }

    /// Returns the jobs that this process has taken, with their tokens. Those whose thread is lost are not among them
    /// any more.
    pub(crate) fn held(&self) -> HashMap<i64, i64> {
        let mut state = self.lock();
        let now = Instant::now();
        let is_lost = |held: &Held| held.until.is_some_and(|until| until <= now);
        let lost = state.held.iter().filter(|(_, held)| is_lost(held));
        let lost: Vec<i64> = lost.map(|(id, _)| *id).collect();
        for id in lost {
            state.forget(id, None);
        }
        state
            .held
            .iter()
            .map(|(id, held)| (*id, held.token))
            .collect()
    }

    /// Returns the numbers of the jobs that this process has taken, or whose end is not written.
    pub(crate) fn known(&self) -> Vec<i64> {
        let state = self.lock();
        let ended = state.ended.iter().map(|one| one.job.id);
        state.held.keys().copied().chain(ended).collect()
    }

    /// Gives jobs up that this process has lost. Returns the name and the attempt of each.
    pub(crate) fn lose(&self, ids: &[i64]) -> Vec<(i64, String, u32)> {
        let mut state = self.lock();
        let mut lost = Vec::new();
        for id in ids {
            if let Some(held) = state.held.get(id) {
                held.given_up.tell();
                lost.push((*id, held.name.clone(), held.attempt));
            }
            if let Some(at) = state.waiting.iter().position(|job| job.id == *id)
                && let Some(job) = state.waiting.remove(at)
            {
                state.forget(job.id, Some(job.token));
            }
        }
        lost
    }

    /// Takes away the jobs that wait for a thread.
    pub(crate) fn take_waiting(&self) -> Vec<Taken> {
        let mut state = self.lock();
        let waiting: Vec<Taken> = state.waiting.drain(..).collect();
        waiting
            .iter()
            .for_each(|job| state.forget(job.id, Some(job.token)));
        waiting
    }
}

impl DeskState {
    /// Forgets a job that was taken, unless it was taken anew since.
    fn forget(&mut self, id: i64, token: Option<i64>) {
        let is_same = |held: &Held| token.is_none_or(|token| held.token == token);
        if !self.held.get(&id).is_some_and(is_same) {
            return;
        }
        let Some(held) = self.held.remove(&id) else {
            return;
        };
        if let Some(queue) = self.queues.get_mut(&held.queue) {
            queue.held = queue.held.saturating_sub(1);
            if held.until.is_some() {
                queue.running = queue.running.saturating_sub(1);
                queue.ended += 1;
            }
        }
    }
}
