//! Jobs that were taken and are given back, without using up an attempt, or were cancelled meanwhile.

use super::{JobTable, list};
use sampan_host::{Error, Value};

pub(super) const GIVE_BACK: &str =
    "UPDATE _sampan_jobs SET state = 'ready', attempt = attempt - 1, lease = NULL
    WHERE id IN (SELECT value FROM json_each(?))";
/// Another process may declare it soon; after days one does hardly.
pub(super) const PUT_OFF: &str =
    "UPDATE _sampan_jobs SET state = 'scheduled', attempt = attempt - 1, lease = NULL,
    due = ? + max(10000, min(3600000, (? - added) / 2)) WHERE id = ?";
pub(super) const CANCELLED: &str = "SELECT 1 FROM _sampan_jobs
    WHERE ended IS NOT NULL AND state = 'cancelled' AND ended >= ? LIMIT 1";

impl JobTable<'_> {
    /// Reports whether a job was cancelled since a time.
    pub(crate) fn any_cancelled(self, since: i64) -> Result<bool, Error> {
        let rows = self.read(CANCELLED, vec![Value::Int(since)])?;
        Ok(rows.is_some_and(|rows| !rows.is_empty()))
    }

    /// Gives jobs back that were taken and not begun.
    pub(crate) fn give_back(self, ids: impl IntoIterator<Item = i64>) -> Result<(), Error> {
        self.write(GIVE_BACK, vec![list(ids)]).map(drop)
    }

    /// Gives a job back that this process cannot do. It is due after half of its age, between ten seconds and an hour.
    pub(crate) fn put_off(self, id: i64, now: i64) -> Result<(), Error> {
        let params = vec![Value::Int(now), Value::Int(now), Value::Int(id)];
        self.write(PUT_OFF, params).map(drop)
    }
}
