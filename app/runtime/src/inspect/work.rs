//! The work that a project declares apart from its routes: jobs, crons and timers.

use crate::local_app::LocalApp;
use crate::worker::timers;
use sampan_host::Place;
use sampan_host::jobs::{JobDeclaration, JobQueue};
use std::rc::Rc;
use std::time::Duration;

/// The kind of work, with what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkKind {
    /// Jobs that scripts add.
    Job {
        /// The name.
        name: String,
        /// The queue.
        queue: String,
    },
    /// A job that the clock adds.
    Cron {
        /// The name.
        name: String,
        /// The queue.
        queue: String,
        /// The pattern.
        pattern: String,
        /// The time zone of the pattern.
        zone: String,
    },
    /// A function that each worker runs again and again.
    Timer {
        /// The pause before each run.
        pause: Duration,
    },
}

/// Work that no request does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkRow {
    /// The kind.
    pub kind: WorkKind,
    /// The place of its function, where the engine knows it.
    pub place: Option<Place>,
}

impl LocalApp {
    /// Returns the jobs and crons by their names, then the timers in the order of their declaration.
    pub(super) fn work(&self) -> Vec<WorkRow> {
        let loaded = self.loaded();
        let context = &loaded.context;
        let queue = context.get::<Rc<dyn JobQueue>>();
        let jobs = queue.map_or_else(Vec::new, |queue| queue.declarations());
        let (crons, jobs): (Vec<_>, Vec<_>) =
            jobs.into_iter().partition(|job| job.schedule.is_some());
        let timers = timers::declarations(context).into_iter();
        let timers = timers.map(|timer| WorkRow {
            kind: WorkKind::Timer { pause: timer.pause },
            place: timer.place,
        });
        let jobs = jobs.into_iter().chain(crons).map(row);
        jobs.chain(timers).collect()
    }
}

fn row(job: JobDeclaration) -> WorkRow {
    let JobDeclaration {
        name,
        queue,
        schedule,
        place,
    } = job;
    let kind = match schedule {
        None => WorkKind::Job { name, queue },
        Some((pattern, zone)) => WorkKind::Cron {
            name,
            queue,
            pattern,
            zone,
        },
    };
    WorkRow { kind, place }
}
