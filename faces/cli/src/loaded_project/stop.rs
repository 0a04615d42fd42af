//! Stops what a project runs, from another thread.

use sampan_host::{Error, ErrorKind, LocalFuture, StopCause, Watch};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::Notify;

/// The interval at which a run that must stop is told so.
pub(super) const STOP_PAUSE: Duration = Duration::from_millis(2);

/// Stops what the worker of a project runs. Clones stop the same worker.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<StopParts>);

#[derive(Default)]
struct StopParts {
    /// The watch of the worker, once there is one.
    watch: OnceLock<Arc<Watch>>,
    /// Notified when the person gives up what runs.
    given_up: Notify,
}

impl Stop {
    /// Takes note of the worker that runs the scripts.
    pub(crate) fn watch(&self, watch: Arc<Watch>) {
        let _ = self.0.watch.set(watch);
    }

    /// Reports whether there is a worker that can be stopped.
    pub(crate) fn has_worker(&self) -> bool {
        self.0.watch.get().is_some()
    }

    /// Stops the script that runs, or gives up what it waits for.
    pub(crate) fn stop(&self) {
        let Some(watch) = self.0.watch.get() else {
            return;
        };
        let epoch = watch.epoch();
        while epoch & 1 == 1 && watch.epoch() == epoch {
            watch.stop(epoch);
            std::thread::sleep(STOP_PAUSE);
        }
        if epoch & 1 == 0 {
            self.0.given_up.notify_one();
        }
    }

    /// Tells the run of a script that goes on to end, because its project ends. To be called again until it has ended.
    pub(super) fn close(&self) {
        let Some(watch) = self.0.watch.get() else {
            return;
        };
        let epoch = watch.epoch();
        if epoch & 1 == 1 {
            watch.stop_for(epoch, StopCause::Closing);
        }
    }

    /// Completes a run, or gives it up where the person does.
    ///
    /// # Errors
    /// Its own, or that it was stopped.
    pub(crate) async fn during(
        &self,
        mut run: LocalFuture<Result<(), Error>>,
    ) -> Result<(), Error> {
        let mut given_up = pin!(self.0.given_up.notified());
        std::future::poll_fn(|cx| {
            if let Poll::Ready(ran) = run.as_mut().poll(cx) {
                return Poll::Ready(ran);
            }
            let stopped = || Error::new(ErrorKind::Stopped, "stopped");
            given_up.as_mut().poll(cx).map(|()| Err(stopped()))
        })
        .await
    }
}
