//! Queues with a rate whose starts this process may not count: the owner of a table that a new release has made grants
//! the rights.

use crate::config::JobsConfig;
use crate::limits::DENIED_AGAIN;
use sampan_host::Error;
use sampan_host::log::{Entry, Level, Log};
use std::time::Instant;

/// The time at which the server refused to count starts, if it has. The jobs of queues with a rate wait; others go on.
#[derive(Default)]
pub(super) struct DeniedRates(Option<Instant>);

impl DeniedRates {
    /// Reports whether starts are not counted now.
    pub(super) fn are(&self) -> bool {
        self.0.is_some_and(|at| at.elapsed() < DENIED_AGAIN)
    }

    /// Returns the queues whose jobs may be taken.
    pub(super) fn without(
        &self,
        mut room: Vec<(String, usize)>,
        config: &JobsConfig,
    ) -> Vec<(String, usize)> {
        if self.are() {
            room.retain(|(queue, _)| config.rule(queue).rate.is_none());
        }
        room
    }

    /// Takes note of an error of a turn, and logs the right that is missing. Returns true if starts may not be counted.
    #[cold]
    pub(super) fn tell(&mut self, error: &Error, log: Option<&dyn Log>) -> bool {
        let is_about = error.message().contains("_sampan_job_starts");
        if self.are() || error.code() != Some("denied") || !is_about {
            return false;
        }
        self.0 = Some(Instant::now());
        if let Some(log) = log {
            let text = format!(
                "jobs: {error}; the jobs of queues with a rate wait until the owner of the table runs GRANT SELECT, \
                 INSERT, UPDATE, DELETE ON _sampan_job_starts for this role"
            );
            log.write(Level::Error, &Entry::text(text));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::Details;

    #[test]
    fn the_right_to_count_starts_is_told_once() {
        let error = |code: &str, table: &str| {
            let error = Error::script(format!("permission denied for table {table}"));
            error.with_details(Details {
                code: code.to_owned().into(),
                table: None,
                columns: Vec::new(),
                constraint: None,
            })
        };
        let mut denied = DeniedRates::default();
        assert!(!denied.tell(&error("denied", "_sampan_jobs"), None));
        assert!(!denied.tell(&error("busy", "_sampan_job_starts"), None) && !denied.are());
        assert!(denied.tell(&error("denied", "_sampan_job_starts"), None) && denied.are());
        // It comes from another statement.
        assert!(!denied.tell(&error("denied", "_sampan_job_starts"), None));
    }
}
