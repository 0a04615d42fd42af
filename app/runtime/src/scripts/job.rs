//! One piece of work on its way through a pool: what is to be done, and who is told what came of it.

use super::request::HttpRequest;
use super::worker::WorkerState;
use super::{PoolShared, cancelled, lock};
use sampan_host::{Error, Value};
use sampan_http::DirectAnswer;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
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
        /// Why it is no better, where something failed that nothing in the script has handled.
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
pub(crate) struct Job {
    id: u64,
    /// Until somebody has been told.
    done: Mutex<Option<Done>>,
    is_given_up: AtomicBool,
    /// The worker that runs it, and the continuation of the work there while it waits.
    runner: Mutex<Runner>,
    pool: Weak<PoolShared>,
}

#[derive(Default)]
struct Runner {
    worker: Option<Arc<WorkerState>>,
    waker: Option<Waker>,
}

impl JobHandle {
    pub(super) fn new(id: u64, done: Done, pool: Weak<PoolShared>) -> Self {
        Self(Arc::new(Job {
            id,
            done: Mutex::new(Some(done)),
            is_given_up: AtomicBool::new(false),
            runner: Mutex::default(),
            pool,
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
        if let Some(pool) = self.pool.upgrade() {
            pool.queue.ended();
        }
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
