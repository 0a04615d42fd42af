//! Work beside requests: threads with isolates of their own, and one without scripts that hands them what to do.

use crate::capability::{IsolateSetup, ProjectSettings, Shared};
use crate::future::LocalFuture;
use crate::tables::module::Context;
use std::rc::Rc;

/// The work of a capability beside requests, as the threads know it that do it.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// The number of threads with isolates.
    pub isolates: usize,
    /// Runs on a thread of its own without scripts, until [`Beside::close`] is called.
    pub keep: fn(&KeeperSetup<'_>) -> LocalFuture<()>,
    /// Runs on each thread with an isolate, once the project is loaded there, until [`Beside::drain`] is called and
    /// what goes on has ended. The isolate that counts is that which the hook `serve` saw last.
    pub work: fn(&IsolateSetup<'_>) -> LocalFuture<()>,
    /// Tells the threads to begin with nothing more.
    pub drain: fn(&Shared),
    /// Gives up what goes on: the time of the shutdown is over. [`Beside::work`] ends soon after it.
    pub cut: fn(&Shared),
    /// Tells the keeper to end: the threads with isolates have.
    pub close: fn(&Shared),
}

/// The input of [`Beside::keep`].
pub struct KeeperSetup<'a> {
    /// The settings of the project.
    pub settings: ProjectSettings<'a>,
    /// The values that all workers share.
    pub shared: &'a Shared,
    /// The tables of the database, the outbox and the log.
    pub context: &'a Rc<Context>,
}
