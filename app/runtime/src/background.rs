//! Functions of the script that run while no request waits for them.

use sampan_host::log::Log;
use sampan_host::{Background, Callback, Error, ErrorKind, LocalFuture, Stopper, Value, Watch};
use sampan_serve::{Gate, RunKind};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs functions of an isolate behind its worker's gate, each within `handler_millis_max`.
pub(crate) struct GatedRuns {
    pub(crate) gate: Rc<Gate>,
    pub(crate) log: Rc<dyn Log>,
    pub(crate) time_max: Duration,
    pub(crate) watch: Arc<Watch>,
    /// The longest that a run may go on after a write.
    pub(crate) write_time_max: Duration,
    /// Told of each error, before the caller.
    pub(crate) failed: Rc<dyn Fn(&Error)>,
}

impl Background for GatedRuns {
    fn run(&self, what: &str, function: Callback, args: Vec<Value>) -> LocalFuture<()> {
        let (log, time_max, what) = (Rc::clone(&self.log), self.time_max, what.to_owned());
        let failed = Rc::clone(&self.failed);
        let run = function.start_apart(args);
        let run = self.gate.background_of(RunKind::Function, &what, run);
        Box::pin(async move {
            let error = match tokio::time::timeout(time_max, run).await {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error,
                Err(_) => {
                    let millis = time_max.as_millis();
                    let text = format!("it took longer than {millis} ms (handler_millis_max)");
                    Error::new(ErrorKind::Timeout, text)
                }
            };
            failed(&error);
            sampan_serve::log_of(&*log, None, format!("{what}: {error}"), &error);
        })
    }

    fn run_within(
        &self,
        job: &str,
        time_max: Duration,
        stopper: Arc<Stopper>,
        work: LocalFuture<Result<(), Error>>,
    ) -> LocalFuture<Result<(), Error>> {
        let (gate, watch) = (Rc::clone(&self.gate), Arc::clone(&self.watch));
        let (write_time_max, failed) = (self.write_time_max, Rc::clone(&self.failed));
        let until = Instant::now() + time_max;
        let losses = gate.losses();
        let own = Rc::clone(&gate);
        let work: LocalFuture<Result<(), Error>> = Box::pin(async move {
            work.await?;
            own.run_settled().await
        });
        let mut work = gate.background_of(RunKind::Job, job, work);
        Box::pin(async move {
            let run = poll_fn(|cx| {
                watch.limit_until(Some(until));
                if gate.is_open() {
                    watch.shorten_to(write_time_max);
                }
                stopper.enter(&watch);
                let polled = work.as_mut().poll(cx);
                stopper.leave();
                watch.limit_until(None);
                polled
            });
            let ended = tokio::time::timeout_at(until.into(), run).await;
            let error = match ended {
                Ok(Ok(())) => {
                    gate.settled().await?;
                    return match gate.losses() == losses {
                        true => Ok(()),
                        false => Err(gate.lost()),
                    };
                }
                Ok(Err(error)) => error,
                Err(_) => return Err(too_long(time_max)),
            };
            failed(&error);
            // Stopped by the watchdog, which another limit may have told.
            let is_stopped = error.kind() == ErrorKind::Stopped && error.code().is_none();
            Err(match is_stopped {
                true if stopper.is_stopped() => error.with_message("it was given up".to_owned()),
                // Told where the script was.
                true if Instant::now() >= until => {
                    let late = too_long(time_max);
                    let message = late.message().to_owned();
                    error.with_message(message).with_kind(late.kind())
                }
                true => {
                    let millis = write_time_max.as_millis();
                    let text = format!(
                        "the script went on for longer than {millis} ms after a write (transaction_millis_max)"
                    );
                    error.with_message(text)
                }
                false => error,
            })
        })
    }
}

fn too_long(time_max: Duration) -> Error {
    let millis = time_max.as_millis();
    let text = format!("it took longer than its timeout of {millis} ms");
    Error::new(ErrorKind::Timeout, text)
}
