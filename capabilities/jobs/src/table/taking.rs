//! Jobs that can start, and those that are taken.

use super::{JobTable, Taken, int, list, maybe_text, small, text};
use crate::limits::TAKEN_ARGS_BYTES_MAX;
use sampan_host::{Error, Value};

pub(super) const READY: &str =
    "SELECT id, name, CASE WHEN octet_length(args) <= ? THEN args END, attempt + 1, token + 1
    FROM _sampan_jobs WHERE state = 'ready' AND queue = ? ORDER BY priority DESC, id LIMIT ?";
pub(super) const TAKE: &str =
    "UPDATE _sampan_jobs SET state = 'running', attempt = attempt + 1, token = token + 1, lease = ?,
    started = ? WHERE id IN (SELECT value FROM json_each(?))";

impl JobTable<'_> {
    /// Takes jobs of a queue that can start, until `lease`.
    pub(crate) fn take(
        self,
        queue: &str,
        count_max: usize,
        now: i64,
        lease: i64,
    ) -> Result<Vec<Taken>, Error> {
        let ready = self.ready(queue, count_max)?;
        self.claim(&ready, now, lease)?;
        Ok(ready)
    }

    /// Returns jobs of a queue that can start, as they are once they are [claimed](JobTable::claim).
    pub(super) fn ready(self, queue: &str, count_max: usize) -> Result<Vec<Taken>, Error> {
        let params = vec![
            Value::Int(TAKEN_ARGS_BYTES_MAX as i64),
            queue.into(),
            Value::Int(count_max as i64),
        ];
        let rows = self.read(READY, params)?;
        let Some(rows) = rows.filter(|rows| !rows.is_empty()) else {
            return Ok(Vec::new());
        };
        let ready = (0..rows.len()).map(|at| Taken {
            id: int(rows.cell(at, 0)),
            name: text(rows.cell(at, 1)),
            queue: queue.to_owned(),
            args: maybe_text(rows.cell(at, 2)),
            attempt: small(rows.cell(at, 3)),
            token: int(rows.cell(at, 4)),
            trace: None,
            slot: None,
        });
        Ok(ready.collect())
    }

    /// Takes these jobs until `lease`.
    pub(super) fn claim(self, ready: &[Taken], now: i64, lease: i64) -> Result<(), Error> {
        if ready.is_empty() {
            return Ok(());
        }
        let ids = list(ready.iter().map(|one| one.id));
        self.write(TAKE, vec![Value::Int(lease), Value::Int(now), ids])
            .map(drop)
    }
}
