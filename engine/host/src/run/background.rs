//! Functions of the script that run while no request waits for them.

use crate::error::Error;
use crate::future::LocalFuture;
use crate::run::stopper::Stopper;
use crate::value::{Callback, Value};
use std::sync::Arc;
use std::time::Duration;

/// Runs functions of an isolate that no request waits for. It is in the [`Context`](crate::Context) of the isolate as
/// `Rc<dyn Background>`.
pub trait Background {
    /// Calls a function as a run of its own, under the limits of a handler. The future ends when the function has
    /// ended. An error is written to the log with its place, behind `what`.
    fn run(&self, what: &str, function: Callback, args: Vec<Value>) -> LocalFuture<()>;

    /// Runs the work of a job of this name, which may enter the isolate, until it has ended and what it wrote is
    /// committed, within `time_max`: an uninterrupted run of its script is stopped when the time is up, or
    /// `transaction_millis_max` after a write.
    /// Dropping the future gives the work up; `stopper` stops a run of it that goes on.
    ///
    /// # Errors
    /// The error of the work; or it was stopped, its time is up, or its writes were lost.
    fn run_within(
        &self,
        job: &str,
        time_max: Duration,
        stopper: Arc<Stopper>,
        work: LocalFuture<Result<(), Error>>,
    ) -> LocalFuture<Result<(), Error>>;
}
