//! A program that Sampan is a part of, with threads and a JavaScript engine of its own: Node.js or Bun.

use sampan_host::{Error, Isolate, LocalFuture, Setup};
use sampan_http::Pump;
use std::fmt;

/// Runs workers on its own threads, one on each, and their scripts in its own engine. It cannot be asked to stop a
/// script, so `script_millis_max` and `memory_bytes_max` do not hold there.
pub trait Host: fmt::Debug + Send + Sync {
    /// Has a thread that runs no worker yet run this one. Called from any thread.
    fn run(&self, worker: HostedWorker);

    /// Loads a JavaScript project, on the thread of its worker.
    ///
    /// # Errors
    /// The project does not load: of the kind `Load`, with the place in the script.
    fn load(&self, setup: Setup) -> Result<Box<dyn Isolate>, Error>;
}

/// A worker that a [`Host`] is to run.
pub struct HostedWorker(Box<dyn FnOnce(Pump) -> LocalFuture<()> + Send>);

impl HostedWorker {
    pub(crate) fn new(body: impl FnOnce(Pump) -> LocalFuture<()> + Send + 'static) -> Self {
        Self(Box::new(body))
    }

    /// Runs the worker to its end, on the sockets of a pump. To be polled on one thread, in a tokio `LocalSet`, where
    /// tokio's time can be used.
    pub async fn run(self, sockets: Pump) {
        (self.0)(sockets).await;
    }
}

impl fmt::Debug for HostedWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostedWorker").finish_non_exhaustive()
    }
}
