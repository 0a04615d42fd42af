//! A program that we are a part of, with threads and a JavaScript engine of its own: Node.js or Bun.

use super::worker::HostedWorker;
use sampan_host::{Error, Isolate, Setup};

/// Runs workers on its own threads, one on each, and their scripts in its own engine. It cannot be asked to stop a
/// script, so
/// `script_millis_max` and `memory_bytes_max` do not hold there.
pub trait Host: std::fmt::Debug + Send + Sync {
    /// Has a thread that runs no worker yet run this one. Called from any thread.
    fn run(&self, worker: HostedWorker);

    /// Loads a JavaScript project, on the thread of its worker.
    ///
    /// # Errors
    /// The project does not load: of the kind `Load`, with the place in the script.
    fn load(&self, setup: Setup) -> Result<Box<dyn Isolate>, Error>;
}
