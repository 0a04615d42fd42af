//! The measurements of jobs, as the keeper takes them.

use crate::table::JobTable;
use sampan_host::Error;
use sampan_host::metrics::{Counter, Gauge, Registry, known};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The shortest time between two counts of the table.
const COUNT_PAUSE: Duration = Duration::from_secs(2);
/// A count of a large table takes at most this part of the keeper's time: one in so many.
const COUNT_PART: u32 = 50;

/// The measurements of jobs. The keeper has them if the server is measured.
pub(crate) struct JobMeters {
    registry: Arc<Registry>,
    attempts: HashMap<(String, &'static str), Counter>,
    counts: HashMap<(String, String), Gauge>,
    /// The time at which the table is counted again.
    next: Option<Instant>,
}

/// The numbers of jobs by queue and state.
type TableCounts = Result<Vec<(String, String, i64)>, Error>;

/// The outcome of an attempt, for [`JobMeters::ended`].
pub(crate) type CountedAttempt = (String, &'static str);

impl JobMeters {
    pub(crate) fn new(registry: Arc<Registry>) -> Self {
        Self {
            registry,
            attempts: HashMap::new(),
            counts: HashMap::new(),
            next: None,
        }
    }

    /// Counts attempts whose ends are committed.
    pub(crate) fn ended(&mut self, attempts: Vec<CountedAttempt>) {
        let registry = &self.registry;
        for (queue, outcome) in attempts {
            let counter = self.attempts.entry((queue.clone(), outcome));
            let begin = || {
                let family = registry.known(&known::JOB_ATTEMPTS);
                registry.counter(&family, &[&queue, outcome])
            };
            counter.or_insert_with(begin).inc();
        }
    }

    /// Counts the jobs of the table, once in a while. A table that cannot be read keeps the counts as they were.
    pub(super) fn look(&mut self, table: JobTable<'_>) {
        let begun = Instant::now();
        if self.is_due(begun) {
            self.counted(table.counts(), begun);
        }
    }

    /// Counts the jobs on a server, as [`JobMeters::look`] does.
    pub(crate) async fn look_waiting(&mut self, counts: impl Future<Output = TableCounts>) {
        let begun = Instant::now();
        if self.is_due(begun) {
            self.counted(counts.await, begun);
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        self.next.is_none_or(|next| now >= next)
    }

    fn counted(&mut self, counts: TableCounts, begun: Instant) {
        if let Ok(counts) = counts {
            // A queue may have none any more.
            self.counts.values().for_each(|gauge| gauge.set(0.0));
            let registry = &self.registry;
            for (queue, state, count) in counts {
                let labels = [queue.clone(), state.clone()];
                let gauge = self.counts.entry((queue, state)).or_insert_with(|| {
                    let family = registry.known(&known::JOBS);
                    registry.gauge(&family, &[&labels[0], &labels[1]])
                });
                gauge.set(count as f64);
            }
        }
        let pause = COUNT_PAUSE.max(begun.elapsed() * COUNT_PART);
        self.next = Some(Instant::now() + pause);
    }
}
