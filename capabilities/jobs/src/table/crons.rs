//! The table of crons, with the next run of each.

use super::{JobTable, int, text};
use sampan_host::{Error, Value};

const CREATE_CRONS: &str = "CREATE TABLE IF NOT EXISTS _sampan_crons(
       name TEXT PRIMARY KEY, pattern TEXT NOT NULL, zone TEXT NOT NULL, next INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID";
const CRON: &str = "SELECT pattern, zone, next FROM _sampan_crons WHERE name = ?";
const PUT_CRON: &str = "INSERT INTO _sampan_crons(name, pattern, zone, next) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET pattern = excluded.pattern, zone = excluded.zone, next = excluded.next";

/// The next run of a cron, as it is stored.
pub(crate) struct StoredCron {
    pattern: String,
    zone: String,
    pub(crate) next: i64,
}

impl StoredCron {
    /// Reports whether it is of this schedule.
    pub(crate) fn is_of(&self, pattern: &str, zone: &str) -> bool {
        self.pattern == pattern && self.zone == zone
    }
}

impl JobTable<'_> {
    /// Returns the next run of a cron.
    pub(crate) fn cron(self, name: &str) -> Result<Option<StoredCron>, Error> {
        let rows = self.read(CRON, vec![name.into()])?;
        let rows = rows.filter(|rows| !rows.is_empty());
        Ok(rows.map(|rows| StoredCron {
            pattern: text(rows.cell(0, 0)),
            zone: text(rows.cell(0, 1)),
            next: int(rows.cell(0, 2)),
        }))
    }

    /// Stores the next run of a cron.
    pub(crate) fn put_cron(
        self,
        name: &str,
        pattern: &str,
        zone: &str,
        next: i64,
    ) -> Result<(), Error> {
        let params = vec![name.into(), pattern.into(), zone.into(), Value::Int(next)];
        let params = Value::List(params);
        if self.0.write(PUT_CRON, &params)?.is_none() {
            self.0.write(CREATE_CRONS, &Value::Null)?;
            self.0.write(PUT_CRON, &params)?;
        }
        Ok(())
    }
}
