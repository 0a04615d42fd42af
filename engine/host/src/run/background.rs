//! Functions of the script that run while no request waits for them.

use crate::future::LocalFuture;
use crate::value::{Callback, Value};

/// Runs functions of an isolate that no request waits for. It is in the [`Context`](crate::Context) of the isolate as
/// `Rc<dyn Background>`.
pub trait Background {
    /// Calls a function as a run of its own, under the limits of a handler. The future ends when the function has
    /// ended. An error is written to the log with its place, behind `what`.
    fn run(&self, what: &str, function: Callback, args: Vec<Value>) -> LocalFuture<()>;
}
