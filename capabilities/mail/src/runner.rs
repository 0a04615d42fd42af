//! The job that delivers a mail. Each attempt has a thread of its own, since it waits for the server in place.

use crate::delivery::Delivery;
use crate::limits::{ADDRESSES_MAX, PAUSE, STEPS_MAX};
use crate::settings::MailConfig;
use sampan_host::jobs::{JobAttempt, JobFailure, JobPolicy, JobRunner};
use sampan_host::{Error, ErrorKind, LocalFuture};
use std::sync::Arc;
use tokio::sync::oneshot;

/// The name of the job.
pub(crate) const JOB: &str = "sampan.mail";

/// Returns the rules for the job.
pub(crate) fn policy(config: &MailConfig) -> JobPolicy {
    JobPolicy {
        queue: "mail".to_owned(),
        attempts: config.attempts_max,
        // An attempt ends by itself: each of its steps has an end.
        timeout: config.timeout * (STEPS_MAX + ADDRESSES_MAX as u32),
        backoff: PAUSE,
    }
}

/// Delivers the mails of an isolate's process.
pub(crate) struct MailRunner(pub(crate) Arc<MailConfig>);

impl JobRunner for MailRunner {
    fn run(&self, attempt: JobAttempt) -> LocalFuture<Result<(), JobFailure>> {
        let config = Arc::clone(&self.0);
        let (sender, receiver) = oneshot::channel();
        let work = move || {
            let is_wanted = || !sender.is_closed();
            let ended = Delivery::read(&attempt.args)
                .map_err(JobFailure::from)
                .and_then(|delivery| delivery.attempt(&config, attempt.attempt, &is_wanted));
            // An attempt that was given up has no receiver.
            let _ = sender.send(ended);
        };
        let thread = std::thread::Builder::new().name("mail".to_owned());
        let started = thread.spawn(work);
        Box::pin(async move {
            if let Err(error) = started {
                let text = format!("cannot start a thread for a mail: {error}");
                return Err(Error::new(ErrorKind::Unavailable, text).into());
            }
            let ended = receiver.await;
            let lost =
                |_| Err(Error::new(ErrorKind::Internal, "the thread of a mail has failed").into());
            ended.unwrap_or_else(lost)
        })
    }
}
