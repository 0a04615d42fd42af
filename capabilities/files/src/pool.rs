//! Work on the disk beside the workers.

use crate::limits::THREADS_MAX;
use sampan_host::{Error, ErrorKind};
use tokio::sync::Semaphore;

/// Counts what goes on, in all workers.
static THREADS: Semaphore = Semaphore::const_new(THREADS_MAX);

/// Runs `work` on a thread of its own. If the caller does not wait for its end, it ends all the same.
pub(crate) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let permit = THREADS.acquire().await;
    let done = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    match done.await {
        Ok(result) => result,
        Err(_) => Err(Error::new(ErrorKind::Internal, "work on a file failed")),
    }
}
