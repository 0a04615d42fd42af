//! Functions of the script that a capability keeps.

use crate::{Error, LocalFuture, Value};
use std::any::Any;
use std::rc::Rc;

/// A function of the script. It is given up with its last clone. It may outlive its isolate: each call is an error
/// then.
pub type Callback = Rc<dyn ScriptFunction>;

/// A function of the script.
pub trait ScriptFunction {
    /// Calls it as a part of the run at hand, under that run's limits; as a run of its own where none is. Called by the
    /// future of an asynchronous row, that is a run of the row's request. It cannot wait.
    ///
    /// # Errors
    /// The error that it raised, or that it would have to wait.
    fn call(&self, args: &[Value]) -> Result<Value, Error>;

    /// Calls it as a run of its own, under the limits of a handler; it may wait. What it returns is dropped. Nothing
    /// runs before the future is polled, and dropping the future gives the run up. The code that polls it sees to the
    /// outbox, as for any run.
    fn start(self: Rc<Self>, args: Vec<Value>) -> LocalFuture<Result<(), Error>>;

    /// Starts a call in globals and modules of its own, where each request has such: a function that the project's file
    /// gave is that of another run
    /// of the file.
    fn start_apart(self: Rc<Self>, args: Vec<Value>) -> LocalFuture<Result<(), Error>> {
        self.start(args)
    }

    /// Itself, for its engine, which gives it back to a script.
    fn as_any(&self) -> &dyn Any;
}

/// Returns the error of a call whose isolate is gone.
#[cold]
pub fn isolate_is_gone() -> Error {
    Error::script("the script that this function belongs to has ended")
}
