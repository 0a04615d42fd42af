//! A mail on its way: the addresses that are left, the attempts, and what follows each.

use crate::compose::Mail;
use crate::settings::MailConfig;
use crate::smtp::{Outcome, Refusal, deliver};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// The pause before the second attempt; it doubles from one to the next.
const PAUSE: Duration = Duration::from_secs(10);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(3600);

/// A line for the log about a mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// An attempt failed, and another one follows.
    Later(String),
    /// The mail, or one of its addresses, is given up.
    GivenUp(String),
}

/// A mail on its way.
pub(crate) struct Delivery {
    pub(crate) config: Arc<MailConfig>,
    pub(crate) mail: Mail,
    /// The addresses that are left.
    pub(crate) to: Vec<String>,
    /// The number of attempts so far.
    pub(crate) attempts: u32,
    /// True if the connection was lost after the mail was sent.
    pub(crate) may_be_sent: bool,
    pub(crate) reports: UnboundedSender<Report>,
}

impl Delivery {
    pub(crate) fn new(
        config: Arc<MailConfig>,
        mail: Mail,
        reports: UnboundedSender<Report>,
    ) -> Self {
        Self {
            config,
            to: mail.to.clone(),
            mail,
            attempts: 0,
            may_be_sent: false,
            reports,
        }
    }

    /// Makes an attempt. Returns the pause before the next one, if there is to be one.
    pub(crate) fn attempt(&mut self) -> Option<Duration> {
        let server = self.config.server.clone()?;
        self.attempts += 1;
        let outcome = deliver(&server, self.config.timeout, &self.mail, &self.to);
        self.follow(outcome)
    }

    /// Decides what follows an attempt.
    fn follow(&mut self, outcome: Outcome) -> Option<Duration> {
        let why = match outcome {
            Outcome::Taken { refused, later } => {
                for (address, why) in refused {
                    self.report(Report::GivenUp(format!("{address} was refused: {why}")));
                }
                let why = later.iter().map(|(_, why)| why.as_str());
                let why = why.collect::<Vec<_>>().join("; ");
                self.to = later
                    .into_iter()
                    .map(|(address, _): Refusal| address)
                    .collect();
                if self.to.is_empty() {
                    return None;
                }
                why
            }
            Outcome::Refused(why) => {
                self.give_up(&format!("was refused: {why}"));
                return None;
            }
            Outcome::Unknown(why) if self.may_be_sent => {
                self.give_up(&format!(
                    "is not sent a third time, because the connection was lost twice after it was sent: {why}"
                ));
                return None;
            }
            Outcome::Unknown(why) => {
                self.may_be_sent = true;
                why
            }
            Outcome::Later(why) => why,
        };
        if self.attempts >= self.config.attempts_max {
            self.give_up(&format!(
                "was not sent in {} attempts: {why}",
                self.attempts
            ));
            return None;
        }
        let pause = PAUSE
            .saturating_mul(1 << (self.attempts - 1).min(16))
            .min(PAUSE_MAX);
        self.report(Report::Later(format!(
            "a mail to {} was not sent: {why}; attempt {} of {} follows in {} s",
            self.to.join(", "),
            self.attempts + 1,
            self.config.attempts_max,
            pause.as_secs()
        )));
        Some(pause)
    }

    fn give_up(&self, why: &str) {
        self.report(Report::GivenUp(format!(
            "a mail to {} {why}",
            self.to.join(", ")
        )));
    }

    fn report(&self, report: Report) {
        // Where its worker has ended, there is no log to write to.
        let _ = self.reports.send(report);
    }
}

#[cfg(test)]
mod tests;
