//! The entries of a desk: jobs on their way to a thread, that a process has, and that have ended.

use crate::table::Taken;
use sampan_host::Stopper;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// A job that this process has taken.
pub(super) struct Held {
    pub(super) token: i64,
    pub(super) name: String,
    pub(super) attempt: u32,
    pub(super) queue: String,
    pub(super) given_up: Arc<GivenUp>,
    /// The time from which it is believed that the thread of a job that runs is lost.
    pub(super) until: Option<Instant>,
}

/// The end of an attempt.
pub(crate) struct Ended {
    pub(crate) job: Taken,
    pub(crate) outcome: Outcome,
}

/// The outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Success.
    Done,
    /// A failure.
    Failed(Failure),
    /// No outcome: this process declares no jobs of the name.
    Undeclared,
}

/// A failed attempt, and what follows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) error: String,
    /// The pause until the next attempt that the script asked for, in place of the usual.
    pub(crate) again: Option<Duration>,
    /// True if the job is dead, however many attempts are left.
    pub(crate) is_final: bool,
    /// The arguments from now on, where they change.
    pub(crate) args: Option<String>,
}

/// A progress that was told.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    pub(crate) token: i64,
    pub(crate) progress: f64,
    pub(crate) text: Option<String>,
}

/// A job on its way to a thread.
pub(crate) struct Handed {
    pub(crate) job: Taken,
    pub(crate) given_up: Arc<GivenUp>,
    /// The time at which its attempt must have ended, beside its own timeout.
    pub(crate) until: Option<Instant>,
}

/// Tells an attempt that nothing waits for its end any more.
#[derive(Default)]
pub(crate) struct GivenUp {
    notify: Notify,
    pub(crate) stopper: Arc<Stopper>,
}

impl GivenUp {
    /// Gives the attempt up.
    pub(super) fn tell(&self) {
        self.stopper.stop();
        self.notify.notify_one();
    }

    /// Waits until it is given up.
    pub(crate) async fn told(&self) {
        self.notify.notified().await;
    }
}
