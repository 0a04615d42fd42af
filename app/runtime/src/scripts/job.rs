//! One piece of work on its way through a pool, the callback for its outcome, and the worker that runs it.

use super::errors::cancelled;
use super::request::HttpRequest;
use crate::locks::lock;
use sampan_host::{Error, StopCause, Value, Watch};
use sampan_http::DirectAnswer;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;

/// The work of a script.
#[derive(Debug)]
pub enum Work {
    /// Answer a request.
    Handle(HttpRequest),
    /// Call a function by its name.
    Call {
        /// The name.
        function: String,
        /// The arguments of the function.
        arguments: Vec<Value>,
    },
}

/// The outcome of a work.
#[derive(Debug)]
pub enum Outcome {
    /// The answer to a request.
    Answer {
        /// The answer that a client would get.
        answer: DirectAnswer,
        /// The reason why it is no better, where something failed that nothing in the script has handled.
        error: Option<Error>,
    },
    /// The value that a function returned.
    Value(Value),
}

/// Told what came of a work, once.
pub type Done = Box<dyn FnOnce(Result<Outcome, Error>) + Send>;

/// A work that was handed over. Dropping this changes nothing.
#[derive(Clone)]
pub struct JobHandle(Arc<Job>);

/// The state of a work, for any thread.
pub(super) struct Job {
    id: u64,
    /// `None` once it was called.
    done: Mutex<Option<Done>>,
    is_given_up: AtomicBool,
    /// The worker that runs it, and the continuation of the work there while it waits.
    runner: Mutex<Runner>,
    places: Arc<Places>,
}

#[derive(Default)]
struct Runner {
    worker: Option<Arc<WorkerState>>,
    waker: Option<Waker>,
}

impl JobHandle {
    pub(super) fn new(id: u64, done: Done, places: Arc<Places>) -> Self {
        Self(Arc::new(Job {
            id,
            done: Mutex::new(Some(done)),
            is_given_up: AtomicBool::new(false),
            runner: Mutex::default(),
            places,
        }))
    }

    pub(super) fn job(&self) -> &Arc<Job> {
        &self.0
    }

    /// Gives the work up: who waits for it is told so at once; it does not begin, or its script is stopped. False if it
    /// had ended.
    pub fn cancel(&self) -> bool {
        self.0.give_up(cancelled())
    }
}

impl fmt::Debug for JobHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JobHandle").field(&self.0.id).finish()
    }
}

impl Job {
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Acquire)
    }

    /// A worker takes it. False if it was given up.
    pub(super) fn begin(&self, worker: &Arc<WorkerState>) -> bool {
        lock(&self.runner).worker = Some(Arc::clone(worker));
        !self.is_given_up()
    }

    /// Lets the work wait; cancelling it wakes `waker`. Returns true if it was cancelled already.
    pub(super) fn park(&self, waker: &Waker) -> bool {
        let mut runner = lock(&self.runner);
        if !runner
            .waker
            .as_ref()
            .is_some_and(|old| old.will_wake(waker))
        {
            runner.waker = Some(waker.clone());
        }
        drop(runner);
        self.is_given_up()
    }

    /// Tells who waits. False if they were told before.
    pub(super) fn settle(&self, outcome: Result<Outcome, Error>) -> bool {
        let done = lock(&self.done).take();
        let Some(done) = done else {
            return false;
        };
        self.places.give_back();
        // What the program does with it is its own matter, and must not end a worker.
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| done(outcome)));
        drop(told);
        true
    }

    /// Gives it up with this error for who waits.
    pub(super) fn give_up(&self, error: Error) -> bool {
        self.is_given_up.store(true, Ordering::Release);
        if !self.settle(Err(error)) {
            return false;
        }
        let (worker, waker) = {
            let mut runner = lock(&self.runner);
            (runner.worker.clone(), runner.waker.take())
        };
        if let Some(worker) = worker {
            worker.stop_job(self.id);
        }
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }
}

/// The state of a worker for other threads.
pub(super) struct WorkerState {
    pub(super) watch: Arc<Watch>,
    /// The work whose script runs now; 0 if none does.
    pub(super) running: AtomicU64,
    /// The works that have begun and not ended.
    pub(super) jobs: Mutex<HashMap<u64, Arc<Job>>>,
    /// True if the worker could not be stopped, and another has its place.
    pub(super) is_abandoned: AtomicBool,
}

impl WorkerState {
    /// Stops the script that runs, if it does so for this work.
    pub(super) fn stop_job(&self, id: u64) {
        // The epoch first: if the run ends in between, its number is over and the stop hits nothing.
        let epoch = self.watch.epoch();
        if epoch & 1 == 1 && self.running.load(Ordering::Acquire) == id {
            self.watch.stop_for(epoch, StopCause::GivenUp);
        }
    }

    /// Stops the script that runs, because the pool ends.
    pub(super) fn stop_run(&self) {
        let epoch = self.watch.epoch();
        if epoch & 1 == 1 {
            self.watch.stop_for(epoch, StopCause::Closing);
        }
    }

    /// Tells all who wait for works of this worker that nothing comes of them.
    pub(super) fn give_all_up(&self, error: &Error) {
        let jobs: Vec<Arc<Job>> = lock(&self.jobs).drain().map(|(_, job)| job).collect();
        for job in jobs {
            job.give_up(error.clone());
        }
    }
}

/// The places of a pool for works that wait or run.
pub(super) struct Places {
    taken: AtomicUsize,
    count_max: usize,
}

impl Places {
    pub(super) fn new(count_max: usize) -> Self {
        Self {
            taken: AtomicUsize::new(0),
            count_max,
        }
    }

    /// Takes a place. Returns false if none is free.
    pub(super) fn take(&self) -> bool {
        let is_free = self.taken.fetch_add(1, Ordering::Relaxed) < self.count_max;
        if !is_free {
            self.give_back();
        }
        is_free
    }

    pub(super) fn give_back(&self) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }
}
