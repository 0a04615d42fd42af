//! The line on the terminal for each request, with its costs.

use super::state::Dev;
use sampan_host::log::{Entry, Level};
use sampan_http::{Request, RequestOutcome};
use sampan_serve::{RequestTrace, Statements};
use std::sync::Arc;
use std::time::Duration;

/// Tells what one request cost, when it is over.
pub(super) struct RequestCost {
    dev: Arc<Dev>,
    /// True for a request of an `EventSource`, which ends when its client leaves.
    is_for_events: bool,
}

impl RequestCost {
    pub(super) fn new(dev: &Arc<Dev>, request: Option<&Request>) -> Self {
        let accept = request.and_then(|request| request.header("accept"));
        Self {
            dev: Arc::clone(dev),
            is_for_events: accept == Some(&b"text/event-stream"[..]),
        }
    }
}

/// Writes the line.
impl RequestTrace for RequestCost {
    fn tell(&self, head: Option<(&str, &str)>, outcome: &RequestOutcome, statements: &Statements) {
        let (method, target) = head.unwrap_or(("-", "-"));
        let mut text = format!(
            "{method} {target} {} {}",
            outcome.status,
            millis(outcome.elapsed)
        );
        if statements.count > 0 {
            text += &format!(", {} SQL {}", statements.count, millis(statements.elapsed));
        }
        if !outcome.is_whole {
            text += match self.is_for_events && outcome.status == 200 {
                true => ", the client left",
                false => ", not sent whole",
            };
        }
        let level = if outcome.status >= 500 {
            Level::Warn
        } else {
            Level::Info
        };
        self.dev.logger.write(level, &Entry::text(text));
        let slow = self.dev.settings.slow_query;
        for statement in statements.first.iter().filter(|one| one.elapsed >= slow) {
            self.dev.plans.tell(&statement.sql, statement.elapsed);
        }
    }
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
