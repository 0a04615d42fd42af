//! Jobs as people see and change them.

use super::batches::AllBatchEnds;
use super::ended_key::{ended_key, live_key};
use super::{JobTable, int, list, maybe_int, small, state, text};
use crate::limits::{LEASE_MILLIS_MAX, LISTED_ARGS_BYTES_MAX};
use sampan_host::{Cell, Error, Rows, Value};

const COLUMNS: &str = "id, name, queue, state, priority, due, added, attempt, started, ended, progress, \
 progress_text, coalesce(errors, '[]')";
/// Each part reads one index: a scan of the table would read the arguments of all jobs.
pub(crate) const COUNTS: &str = "SELECT queue, 'ready', count(*) FROM _sampan_jobs WHERE state = 'ready' GROUP BY queue
    UNION ALL SELECT queue, 'scheduled', count(*) FROM _sampan_jobs WHERE state = 'scheduled' GROUP BY queue
    UNION ALL SELECT queue, 'running', count(*) FROM _sampan_jobs WHERE state = 'running' GROUP BY queue
    UNION ALL SELECT queue, state, count(*) FROM _sampan_jobs
        WHERE state IN ('done', 'dead', 'cancelled') AND ended IS NOT NULL GROUP BY queue, state
    ORDER BY 1, 2";
pub(crate) const CRONS: &str =
    "SELECT name, pattern, zone, next FROM _sampan_cron_times ORDER BY next";
/// Leaves out jobs whose unique key another job has, which has not ended. None of these belongs to a batch. A job that
/// was cancelled while it ran has its lease still: until that has ended the process may not know, and its attempt go
/// on. Parameters: now, the latest end of a lease that is given now, and the jobs.
const RETRY: &str = concat!(
    "UPDATE OR IGNORE _sampan_jobs SET state = CASE WHEN lease > ?1 THEN 'scheduled' ELSE 'ready' END,
    due = CASE WHEN lease > ?1 THEN min(lease, ?2) ELSE due END, attempt = 0, ended = NULL, unique_key = ",
    live_key!(),
    " WHERE state IN ('dead', 'cancelled', 'done', 'scheduled') AND id IN (SELECT value FROM json_each(?3))"
);
const KEY_TAKEN: &str = "SELECT j.id, other.id FROM _sampan_jobs j
    JOIN _sampan_jobs other ON other.unique_key = substr(j.unique_key, length(j.id) + 3)
    WHERE j.id IN (SELECT value FROM json_each(?)) AND j.unique_key GLOB char(1) || '*' ORDER BY j.id";
/// The ended jobs of batches among some. A batch whose jobs all ended has gone.
const COUNTED: &str = "SELECT batch, state, count(*) FROM _sampan_jobs
    WHERE batch IS NOT NULL AND ended IS NOT NULL AND id IN (SELECT value FROM json_each(?)) GROUP BY batch, state";
const CANCELLED: &str = "SELECT id, batch FROM _sampan_jobs
    WHERE state IN ('ready', 'scheduled', 'running') AND id IN (SELECT value FROM json_each(?))";
/// The lease of a job that runs stays, see [`RETRY`].
const CANCEL: &str = concat!(
    "UPDATE _sampan_jobs SET state = 'cancelled', ended = ?, token = token + 1, unique_key = ",
    ended_key!(),
    " WHERE id IN (SELECT value FROM json_each(?))"
);
const PRUNE: &str = "DELETE FROM _sampan_jobs WHERE id IN (SELECT id FROM _sampan_jobs
    WHERE ended IS NOT NULL AND ended < ? AND state IN ('done', 'dead', 'cancelled') LIMIT ?)";

/// Returns the condition for the jobs in a state and their order, such that an index has both.
fn of_state(state: Option<&str>) -> (&'static str, &'static str) {
    match state {
        None => ("true", "id DESC"),
        Some(state::READY) => ("state = 'ready'", "queue, priority DESC, id"),
        Some(state::SCHEDULED) => ("state = 'scheduled'", "due, id"),
        Some(state::RUNNING) => ("state = 'running'", "+id DESC"),
        Some(state::DONE) => (
            "state = 'done' AND ended IS NOT NULL",
            "ended DESC, id DESC",
        ),
        Some(state::DEAD) => (
            "state = 'dead' AND ended IS NOT NULL",
            "ended DESC, id DESC",
        ),
        Some(state::CANCELLED) => (
            "state = 'cancelled' AND ended IS NOT NULL",
            "ended DESC, id DESC",
        ),
        Some(_) => ("false", "id DESC"),
    }
}

/// A job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobView {
    /// The number.
    pub id: i64,
    /// The name.
    pub name: String,
    /// The queue.
    pub queue: String,
    /// `ready`, `scheduled`, `running`, `done`, `dead` or `cancelled`.
    pub state: String,
    /// The priority.
    pub priority: i64,
    /// The time when it is due, in milliseconds since 1970.
    pub due: i64,
    /// The time when it was added, in milliseconds since 1970.
    pub added: i64,
    /// The number of attempts so far.
    pub attempt: u32,
    /// The time when the last attempt began, in milliseconds since 1970.
    pub started: Option<i64>,
    /// The time when it ended, in milliseconds since 1970.
    pub ended: Option<i64>,
    /// The progress that its function told.
    pub progress: Option<f64>,
    /// The text of that.
    pub progress_text: Option<String>,
    /// The arguments, as JSON. In lists only short ones.
    pub args: Option<String>,
    /// The errors of its attempts: a list of objects with `attempt`, `at` and `error`, as JSON.
    pub errors: String,
}

/// A cron.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronView {
    /// The name.
    pub name: String,
    /// The pattern.
    pub pattern: String,
    /// The time zone.
    pub zone: String,
    /// The time of the next run, in milliseconds since 1970.
    pub next: i64,
}

/// The jobs that a list has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Those in this state.
    pub state: Option<String>,
    /// Those of this name.
    pub name: Option<String>,
    /// Those of this queue.
    pub queue: Option<String>,
    /// At most so many.
    pub count_max: usize,
}

fn view(rows: &Rows, at: usize) -> JobView {
    let cell = |column| rows.cell(at, column);
    JobView {
        id: int(cell(0)),
        name: text(cell(1)),
        queue: text(cell(2)),
        state: text(cell(3)),
        priority: int(cell(4)),
        due: int(cell(5)),
        added: int(cell(6)),
        attempt: small(cell(7)),
        started: maybe_int(cell(8)),
        ended: maybe_int(cell(9)),
        progress: match cell(10) {
            Cell::Float(number) => Some(number),
            _ => None,
        },
        progress_text: match cell(11) {
            Cell::Text(text) => Some(text.to_owned()),
            _ => None,
        },
        errors: text(cell(12)),
        args: match cell(13) {
            Cell::Text(text) => Some(text.to_owned()),
            _ => None,
        },
    }
}

/// A statement that shows something, with its parameters. It is the same on SQLite and on a server.
pub(crate) type ShowStatement = (String, Vec<Value>);

/// Returns the statement of a list.
pub(crate) fn list_statement(filter: &JobFilter) -> ShowStatement {
    let (condition, order) = of_state(filter.state.as_deref());
    let mut sql = format!(
        "SELECT {COLUMNS}, CASE WHEN octet_length(args) <= {LISTED_ARGS_BYTES_MAX} THEN args END
        FROM _sampan_jobs WHERE {condition}"
    );
    let mut params = Vec::new();
    for (column, value) in [("name", &filter.name), ("queue", &filter.queue)] {
        if let Some(value) = value {
            sql += &format!(" AND {column} = ?");
            params.push(Value::from(value.as_str()));
        }
    }
    sql += &format!(" ORDER BY {order} LIMIT ?");
    params.push(Value::Int(filter.count_max as i64));
    (sql, params)
}

/// Returns the statement that shows a job.
pub(crate) fn show_statement(id: i64) -> ShowStatement {
    let sql = format!("SELECT {COLUMNS}, args FROM _sampan_jobs WHERE id = ?");
    (sql, vec![Value::Int(id)])
}

/// Reads the jobs of a list, or the one that is shown.
pub(crate) fn views(rows: &Rows) -> Vec<JobView> {
    (0..rows.len()).map(|at| view(rows, at)).collect()
}

/// Reads the numbers of jobs of each queue and state.
pub(crate) fn count_views(rows: &Rows) -> Vec<(String, String, i64)> {
    let counts = (0..rows.len()).map(|at| {
        (
            text(rows.cell(at, 0)),
            text(rows.cell(at, 1)),
            int(rows.cell(at, 2)),
        )
    });
    counts.collect()
}

/// Reads two numbers of each row.
pub(crate) fn pairs(rows: &Rows) -> Vec<(i64, i64)> {
    let pairs = (0..rows.len()).map(|at| (int(rows.cell(at, 0)), int(rows.cell(at, 1))));
    pairs.collect()
}

/// Reads crons.
pub(crate) fn cron_views(rows: &Rows) -> Vec<CronView> {
    let crons = (0..rows.len()).map(|at| CronView {
        name: text(rows.cell(at, 0)),
        pattern: text(rows.cell(at, 1)),
        zone: text(rows.cell(at, 2)),
        next: int(rows.cell(at, 3)),
    });
    crons.collect()
}

impl JobTable<'_> {
    /// Returns jobs, the newest first. Those of one state are in the order in which they start, or the last that ended
    /// is first.
    pub(crate) fn list(self, filter: &JobFilter) -> Result<Vec<JobView>, Error> {
        let (sql, params) = list_statement(filter);
        let rows = self.read(&sql, params)?;
        Ok(rows.as_ref().map_or_else(Vec::new, views))
    }

    /// Returns a job.
    pub(crate) fn show(self, id: i64) -> Result<Option<JobView>, Error> {
        let (sql, params) = show_statement(id);
        let rows = self.read(&sql, params)?;
        Ok(rows.and_then(|rows| views(&rows).pop()))
    }

    /// Returns the number of jobs of each queue and state.
    pub(crate) fn counts(self) -> Result<Vec<(String, String, i64)>, Error> {
        let rows = self.read(COUNTS, Vec::new())?;
        Ok(rows.as_ref().map_or_else(Vec::new, count_views))
    }

    /// Returns the crons, the next first.
    pub(crate) fn crons(self) -> Result<Vec<CronView>, Error> {
        let rows = self.read(CRONS, Vec::new())?;
        Ok(rows.as_ref().map_or_else(Vec::new, cron_views))
    }

    /// Has jobs run now that have ended or are due later. Returns the number. One that was cancelled while it ran waits
    /// for the end of its lease. An open batch waits for its jobs again; the ends of one that is over have been told. A
    /// job whose unique key another job has stays as it is, see [`JobTable::key_taken`].
    pub(crate) fn retry(self, ids: &[i64], now: i64) -> Result<i64, Error> {
        self.atomically(|| self.retry_all(ids, now))
    }

    fn retry_all(self, ids: &[i64], now: i64) -> Result<i64, Error> {
        let rows = self.read(COUNTED, vec![list(ids.iter().copied())])?;
        let mut ends = AllBatchEnds::new();
        for (rows, at) in rows
            .iter()
            .flat_map(|rows| (0..rows.len()).map(move |at| (rows, at)))
        {
            let ends = ends.entry(int(rows.cell(at, 0))).or_default();
            let counted = match &*text(rows.cell(at, 1)) {
                state::DEAD => &mut ends.dead,
                state::CANCELLED => &mut ends.cancelled,
                _ => &mut ends.done,
            };
            *counted -= int(rows.cell(at, 2));
        }
        self.count_ends(&ends, now)?;
        let longest_lease = now.saturating_add_unsigned(LEASE_MILLIS_MAX);
        let ids = list(ids.iter().copied());
        self.write(RETRY, vec![Value::Int(now), Value::Int(longest_lease), ids])
    }

    /// Returns those of the jobs that have ended and whose unique key another job has, each with that one.
    pub(crate) fn key_taken(self, ids: &[i64]) -> Result<Vec<(i64, i64)>, Error> {
        let rows = self.read(KEY_TAKEN, vec![list(ids.iter().copied())])?;
        Ok(rows.as_ref().map_or_else(Vec::new, pairs))
    }

    /// Cancels jobs that have not ended. Returns the number.
    pub(crate) fn cancel(self, ids: &[i64], now: i64) -> Result<i64, Error> {
        self.atomically(|| self.cancel_all(ids, now))
    }

    fn cancel_all(self, ids: &[i64], now: i64) -> Result<i64, Error> {
        let rows = self.read(CANCELLED, vec![list(ids.iter().copied())])?;
        let Some(rows) = rows.filter(|rows| !rows.is_empty()) else {
            return Ok(0);
        };
        let mut ends = AllBatchEnds::new();
        for at in 0..rows.len() {
            if let Some(batch) = maybe_int(rows.cell(at, 1)) {
                ends.entry(batch).or_default().cancelled += 1;
            }
        }
        let found = (0..rows.len()).map(|at| int(rows.cell(at, 0)));
        let count = self.write(CANCEL, vec![Value::Int(now), list(found)])?;
        self.count_ends(&ends, now)?;
        Ok(count)
    }

    /// Removes jobs that ended before a time. Returns the number.
    pub(crate) fn prune_some(self, before: i64, count_max: usize) -> Result<i64, Error> {
        let count_max = Value::Int(count_max as i64);
        self.write(PRUNE, vec![Value::Int(before), count_max])
    }
}
