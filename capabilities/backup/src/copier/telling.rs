//! The faults of a copy, and what the log is told of them.

use super::{Copier, now};
use crate::targets::TargetFault;
use sampan_host::log::Level;
use std::time::{Duration, Instant};

/// The time between two reports of a fault that goes on.
const REPORT_PAUSE: Duration = Duration::from_secs(60);

/// A fault that goes on.
pub(super) struct Trouble {
    since: Instant,
    told: Instant,
    pub(super) attempts: u32,
}

/// The reason why a round was not completed.
pub(super) enum RoundFault {
    /// The target or the database has failed.
    Failed(String),
    /// Another process writes to the target.
    Other(String),
}

impl From<TargetFault> for RoundFault {
    fn from(fault: TargetFault) -> Self {
        Self::Failed(fault.text())
    }
}

impl Copier {
    /// Reports a fault, now and then while it goes on, and its end.
    pub(super) fn tell(&mut self, round: Result<(), RoundFault>) {
        let instant = Instant::now();
        let fault = match round {
            Ok(()) => {
                self.is_told_other = None;
                if let Some(trouble) = self.trouble.take() {
                    let seconds = trouble.since.elapsed().as_secs();
                    let text =
                        format!("backup: works again after {seconds} s; all commits are copied");
                    (self.host.log)(Level::Info, text);
                }
                return;
            }
            Err(RoundFault::Other(other)) => {
                let is_told = self
                    .is_told_other
                    .as_ref()
                    .is_some_and(|(told, at)| *told == other && at.elapsed() < REPORT_PAUSE);
                if !is_told {
                    let place = self.settings.place.shown();
                    let text = format!(
                        "backup: {place} is written by another process ({other}), so nothing is copied: end that one, \
                         or give this server a url of its own"
                    );
                    (self.host.log)(Level::Error, text);
                    self.is_told_other = Some((other, instant));
                }
                return;
            }
            Err(RoundFault::Failed(fault)) => fault,
        };
        let is_new = self.trouble.is_none();
        let trouble = self.trouble.get_or_insert(Trouble {
            since: instant,
            told: instant,
            attempts: 0,
        });
        trouble.attempts += 1;
        if is_new || trouble.told.elapsed() >= REPORT_PAUSE {
            trouble.told = instant;
            let behind = self
                .pending
                .oldest()
                .map_or(0, |time| now().saturating_sub(time))
                / 1_000;
            let text = format!("backup: {fault}; the copy is {behind} s behind; tried again");
            (self.host.log)(Level::Error, text);
        }
    }
}
