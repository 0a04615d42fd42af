//! The table of crons: the next run of each, one row for each schedule that processes declare it with.

use super::{JobTable, int, maybe_int, text};
use crate::schedule::Schedule;
use sampan_host::{Error, Value};

const CREATE: &str = "CREATE TABLE IF NOT EXISTS _sampan_cron_times(
       name TEXT NOT NULL, pattern TEXT NOT NULL, zone TEXT NOT NULL, next INTEGER NOT NULL, ran INTEGER,
       PRIMARY KEY(name, pattern, zone)
     ) STRICT, WITHOUT ROWID";
/// The table of before had one schedule for each cron.
const COPY: &str = "INSERT INTO _sampan_cron_times(name, pattern, zone, next)
    SELECT name, pattern, zone, next FROM _sampan_crons";
const OF_NAME: &str = "SELECT pattern, zone, next, ran FROM _sampan_cron_times WHERE name = ?";
const PUT: &str =
    "INSERT INTO _sampan_cron_times(name, pattern, zone, next, ran) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET next = excluded.next, ran = coalesce(excluded.ran, ran)";
const FORGET: &str = "DELETE FROM _sampan_cron_times WHERE name = ? AND next < ?";

/// The next run of a cron under one schedule, as it is stored.
pub(crate) struct StoredCron {
    pattern: String,
    zone: String,
    pub(crate) next: i64,
    /// The last time for which this schedule added the job, or left it out because that of an earlier time had not
    /// ended.
    pub(crate) ran: Option<i64>,
}

impl StoredCron {
    /// Reports whether it is of this schedule.
    pub(crate) fn is_of(&self, schedule: &Schedule) -> bool {
        self.pattern == schedule.pattern && self.zone == schedule.zone
    }

    /// Reports whether `due` is a time of its schedule.
    pub(crate) fn has_time(&self, due: i64) -> bool {
        let schedule = Schedule::read(&self.pattern, &self.zone);
        schedule.is_ok_and(|schedule| schedule.next(due - 1) == Some(due))
    }
}

impl JobTable<'_> {
    /// Returns the next runs of a cron, under all its schedules.
    pub(crate) fn cron(self, name: &str) -> Result<Vec<StoredCron>, Error> {
        let rows = self.read(OF_NAME, vec![name.into()])?;
        Ok(rows.map_or(Vec::new(), |rows| {
            let stored = (0..rows.len()).map(|at| StoredCron {
                pattern: text(rows.cell(at, 0)),
                zone: text(rows.cell(at, 1)),
                next: int(rows.cell(at, 2)),
                ran: maybe_int(rows.cell(at, 3)),
            });
            stored.collect()
        }))
    }

    /// Stores the next run of a cron, and the time for which it ran now.
    pub(crate) fn put_cron(
        self,
        name: &str,
        schedule: &Schedule,
        next: i64,
        ran: Option<i64>,
    ) -> Result<(), Error> {
        let params = Value::List(vec![
            name.into(),
            (*schedule.pattern).into(),
            (*schedule.zone).into(),
            Value::Int(next),
            ran.map_or(Value::Null, Value::Int),
        ]);
        if self.0.write(PUT, &params)?.is_none() {
            self.0.write(CREATE, &Value::Null)?;
            self.0.write(COPY, &Value::Null)?;
            self.0.write(PUT, &params)?;
        }
        Ok(())
    }

    /// Forgets the schedules of a cron whose next run is before a time.
    pub(crate) fn forget_crons(self, name: &str, before: i64) -> Result<(), Error> {
        self.write(FORGET, vec![name.into(), Value::Int(before)])
            .map(drop)
    }
}
