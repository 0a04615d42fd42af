//! The table of jobs in the app's database. It is made when the first job is added.

mod atomic;
pub(crate) mod batches;
pub(crate) mod crons;
mod ended_key;
mod given_back;
pub(crate) mod listed;
pub(crate) mod people;
pub(crate) mod rates;
pub(crate) mod status;
mod strays;
mod taking;

use crate::limits::LEFT_MILLIS;
use crate::options::json_text;
use ended_key::ended_key;
use rates::StartSlot;
use sampan_host::database::AppTables;
use sampan_host::{Cell, Error, ErrorKind, Rows, Value};

/// The states of a job.
pub(crate) mod state {
    /// Able to start.
    pub(crate) const READY: &str = "ready";
    /// Due later.
    pub(crate) const SCHEDULED: &str = "scheduled";
    /// A process makes an attempt.
    pub(crate) const RUNNING: &str = "running";
    /// An attempt succeeded.
    pub(crate) const DONE: &str = "done";
    /// All attempts failed.
    pub(crate) const DEAD: &str = "dead";
    /// Given up by people or the app.
    pub(crate) const CANCELLED: &str = "cancelled";
}

/// `ready` and `scheduled` are apart, so that a thousand jobs of next week are not in the way of one that can start.
const CREATE: [&str; 6] = [
    "CREATE TABLE IF NOT EXISTS _sampan_jobs(
       id INTEGER PRIMARY KEY, name TEXT NOT NULL, queue TEXT NOT NULL, args TEXT NOT NULL, state TEXT NOT NULL,
       priority INTEGER NOT NULL, due INTEGER NOT NULL, added INTEGER NOT NULL, unique_key TEXT,
       attempt INTEGER NOT NULL DEFAULT 0, token INTEGER NOT NULL DEFAULT 0, lease INTEGER, started INTEGER,
       ended INTEGER, progress REAL, progress_text TEXT, errors TEXT, batch INTEGER
     ) STRICT",
    "CREATE INDEX IF NOT EXISTS _sampan_jobs_ready ON _sampan_jobs(queue, priority DESC, id) WHERE state = 'ready'",
    "CREATE INDEX IF NOT EXISTS _sampan_jobs_scheduled ON _sampan_jobs(due) WHERE state = 'scheduled'",
    "CREATE INDEX IF NOT EXISTS _sampan_jobs_running ON _sampan_jobs(lease) WHERE state = 'running'",
    "CREATE INDEX IF NOT EXISTS _sampan_jobs_ended ON _sampan_jobs(state, ended) WHERE ended IS NOT NULL",
    "CREATE UNIQUE INDEX IF NOT EXISTS _sampan_jobs_unique ON _sampan_jobs(unique_key) WHERE unique_key IS NOT NULL",
];

const INSERT: &str =
    "INSERT INTO _sampan_jobs(id, name, queue, args, state, priority, due, added, unique_key, batch)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
const OF_KEY: &str = "SELECT id FROM _sampan_jobs WHERE unique_key = ?";
const ANY_READY: &str = "SELECT 1 FROM _sampan_jobs WHERE state = 'ready' AND queue = ? LIMIT 1";
const NEXT_DUE: &str = "SELECT min(due) FROM _sampan_jobs WHERE state = 'scheduled'";
const PROMOTE: &str = "UPDATE _sampan_jobs SET state = 'ready' WHERE id IN
    (SELECT id FROM _sampan_jobs WHERE state = 'scheduled' AND due <= ? ORDER BY due LIMIT ?)";
const ARGS: &str = "SELECT args FROM _sampan_jobs WHERE id = ? AND token = ?";
const TOKENS: &str = "SELECT id, token, batch FROM _sampan_jobs WHERE state = 'running' AND id IN (SELECT value \
 FROM json_each(?))";
const EXTEND: &str =
    "UPDATE _sampan_jobs SET lease = ? WHERE id IN (SELECT value FROM json_each(?))";
/// The parameters are now, a time long before, and names: of others only the jobs whose lease ended before that time.
const EXPIRED: &str =
    "SELECT id, name, attempt, batch FROM _sampan_jobs WHERE state = 'running' AND lease < ?
    AND (lease < ? OR name IN (SELECT value FROM json_each(?))) ORDER BY lease LIMIT ?";
const ANY_LATER: &str = "SELECT 1 FROM _sampan_jobs WHERE state = 'running' AND lease > ? LIMIT 1";
const SHORTEN: &str = "UPDATE _sampan_jobs SET lease = ? WHERE state = 'running' AND lease > ?";
const REMOVE: &str = "DELETE FROM _sampan_jobs WHERE id IN (SELECT value FROM json_each(?))";
const KEEP_DONE: &str = concat!(
    "UPDATE _sampan_jobs SET state = 'done', ended = ?, lease = NULL, unique_key = ",
    ended_key!(),
    " WHERE id IN (SELECT value FROM json_each(?))"
);
const AGAIN: &str = "UPDATE _sampan_jobs SET state = 'scheduled', due = ?, lease = NULL,
    errors = json_insert(coalesce(errors, '[]'), '$[#]', json(?)) WHERE id = ?";
const DIE: &str = concat!(
    "UPDATE _sampan_jobs SET state = 'dead', ended = ?, lease = NULL, unique_key = ",
    ended_key!(),
    ", errors = json_insert(coalesce(errors, '[]'), '$[#]', json(?)) WHERE id = ?"
);
const SET_ARGS: &str = "UPDATE _sampan_jobs SET args = ? WHERE id = ?";
const PROGRESS: &str = "UPDATE _sampan_jobs SET progress = ?, progress_text = ? WHERE id = ?";
const PRUNE: &str = "DELETE FROM _sampan_jobs WHERE id IN
    (SELECT id FROM _sampan_jobs WHERE ended IS NOT NULL AND state = ? AND ended < ? LIMIT ?)";

/// A row to be added.
pub(crate) struct NewRow<'a> {
    pub(crate) id: i64,
    pub(crate) name: &'a str,
    pub(crate) queue: &'a str,
    pub(crate) args: &'a str,
    pub(crate) priority: i64,
    pub(crate) due: i64,
    pub(crate) now: i64,
    pub(crate) unique: Option<&'a str>,
    pub(crate) batch: Option<i64>,
}

/// A job that was taken, for one attempt.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) queue: String,
    /// The arguments, unless they are long: see [`JobTable::args`].
    pub(crate) args: Option<String>,
    pub(crate) attempt: u32,
    pub(crate) token: i64,
    /// The trace of the request that added the job, where the table has it.
    pub(crate) trace: Option<String>,
    /// The place where its start is counted, if its queue has a rate.
    pub(crate) slot: Option<StartSlot>,
}

/// A job whose lease has ended.
pub(crate) struct Expired {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) attempt: u32,
    pub(crate) batch: Option<i64>,
}

/// The table of jobs, as one worker sees it.
#[derive(Clone, Copy)]
pub(crate) struct JobTable<'a>(pub(crate) &'a dyn AppTables);

pub(crate) fn int(cell: Cell<'_>) -> i64 {
    match cell {
        Cell::Int(number) => number,
        _ => 0,
    }
}

pub(crate) fn text(cell: Cell<'_>) -> String {
    match cell {
        Cell::Text(text) => text.to_owned(),
        _ => String::new(),
    }
}

pub(crate) fn maybe_text(cell: Cell<'_>) -> Option<String> {
    match cell {
        Cell::Text(text) => Some(text.to_owned()),
        _ => None,
    }
}

pub(crate) fn maybe_int(cell: Cell<'_>) -> Option<i64> {
    match cell {
        Cell::Int(number) => Some(number),
        _ => None,
    }
}

pub(crate) fn small(cell: Cell<'_>) -> u32 {
    u32::try_from(int(cell)).unwrap_or(u32::MAX)
}

fn list(ids: impl IntoIterator<Item = i64>) -> Value {
    let mut text = String::from("[");
    for id in ids {
        if text.len() > 1 {
            text.push(',');
        }
        text += &id.to_string();
    }
    text.push(']');
    Value::Text(text)
}

impl JobTable<'_> {
    fn write(self, sql: &str, params: Vec<Value>) -> Result<i64, Error> {
        Ok(self.0.write(sql, &Value::List(params))?.unwrap_or(0))
    }

    fn read(self, sql: &str, params: Vec<Value>) -> Result<Option<Rows>, Error> {
        self.0.read(sql, &Value::List(params))
    }

    /// Adds a row. Returns false if its id or its unique key is there already.
    pub(crate) fn insert(self, row: &NewRow<'_>) -> Result<bool, Error> {
        let state = if row.due > row.now {
            state::SCHEDULED
        } else {
            state::READY
        };
        let params = Value::List(vec![
            Value::Int(row.id),
            row.name.into(),
            row.queue.into(),
            row.args.into(),
            state.into(),
            Value::Int(row.priority),
            Value::Int(row.due),
            Value::Int(row.now),
            row.unique.map_or(Value::Null, Value::from),
            row.batch.map_or(Value::Null, Value::Int),
        ]);
        if let Some(count) = self.0.write(INSERT, &params)? {
            return Ok(count > 0);
        }
        for sql in CREATE {
            self.0.write(sql, &Value::Null)?;
        }
        match self.0.write(INSERT, &params)? {
            Some(count) => Ok(count > 0),
            None => Err(Error::new(
                ErrorKind::Internal,
                "the table of jobs could not be made",
            )),
        }
    }

    /// Returns the job with a unique key.
    pub(crate) fn of_key(self, key: &str) -> Result<Option<i64>, Error> {
        let rows = self.read(OF_KEY, vec![key.into()])?;
        Ok(rows
            .filter(|rows| !rows.is_empty())
            .map(|rows| int(rows.cell(0, 0))))
    }

    /// Reports whether a job of a queue can start.
    pub(crate) fn any_ready(self, queue: &str) -> Result<bool, Error> {
        let rows = self.read(ANY_READY, vec![queue.into()])?;
        Ok(rows.is_some_and(|rows| !rows.is_empty()))
    }

    /// Returns the time when the next job is due that is due later.
    pub(crate) fn next_due(self) -> Result<Option<i64>, Error> {
        let rows = self.read(NEXT_DUE, Vec::new())?;
        Ok(rows.and_then(|rows| match rows.cell(0, 0) {
            Cell::Int(due) => Some(due),
            _ => None,
        }))
    }

    /// Makes jobs ready that are due. Returns the number.
    pub(crate) fn promote(self, now: i64, count_max: usize) -> Result<i64, Error> {
        self.write(PROMOTE, vec![Value::Int(now), Value::Int(count_max as i64)])
    }

    /// Returns the arguments of a job; `None` if it was taken anew since, or is gone.
    pub(crate) fn args(self, id: i64, token: i64) -> Result<Option<String>, Error> {
        let rows = self.read(ARGS, vec![Value::Int(id), Value::Int(token)])?;
        let rows = rows.filter(|rows| !rows.is_empty());
        Ok(rows.and_then(|rows| maybe_text(rows.cell(0, 0))))
    }

    /// Returns those of the jobs that run, each with its token and its batch.
    pub(crate) fn tokens(
        self,
        ids: impl IntoIterator<Item = i64>,
    ) -> Result<Vec<(i64, i64, Option<i64>)>, Error> {
        let rows = self.read(TOKENS, vec![list(ids)])?;
        Ok(rows.map_or(Vec::new(), |rows| {
            let found = (0..rows.len()).map(|at| {
                (
                    int(rows.cell(at, 0)),
                    int(rows.cell(at, 1)),
                    maybe_int(rows.cell(at, 2)),
                )
            });
            found.collect()
        }))
    }

    /// Extends leases.
    pub(crate) fn extend(
        self,
        ids: impl IntoIterator<Item = i64>,
        lease: i64,
    ) -> Result<(), Error> {
        self.write(EXTEND, vec![Value::Int(lease), list(ids)])
            .map(drop)
    }

    /// Returns jobs of these names whose lease ended before `now`, and others whose lease ended long before.
    pub(crate) fn expired(
        self,
        now: i64,
        names: &[String],
        count_max: usize,
    ) -> Result<Vec<Expired>, Error> {
        let names = names.iter().map(|name| Value::from(name.as_str()));
        let params = vec![
            Value::Int(now),
            Value::Int(now.saturating_sub(LEFT_MILLIS)),
            Value::Text(json_text(&Value::List(names.collect()))?),
            Value::Int(count_max as i64),
        ];
        let rows = self.read(EXPIRED, params)?;
        Ok(rows.map_or(Vec::new(), |rows| {
            let expired = (0..rows.len()).map(|at| Expired {
                id: int(rows.cell(at, 0)),
                name: text(rows.cell(at, 1)),
                attempt: small(rows.cell(at, 2)),
                batch: maybe_int(rows.cell(at, 3)),
            });
            expired.collect()
        }))
    }

    /// Reports whether a lease ends after `most`.
    pub(crate) fn any_later(self, most: i64) -> Result<bool, Error> {
        let rows = self.read(ANY_LATER, vec![Value::Int(most)])?;
        Ok(rows.is_some_and(|rows| !rows.is_empty()))
    }

    /// Has leases that end after `most` end at `lease`.
    pub(crate) fn shorten(self, most: i64, lease: i64) -> Result<(), Error> {
        self.write(SHORTEN, vec![Value::Int(lease), Value::Int(most)])
            .map(drop)
    }

    /// Ends jobs as done: they go, or are kept for a while.
    pub(crate) fn done(
        self,
        ids: impl IntoIterator<Item = i64>,
        now: i64,
        is_kept: bool,
    ) -> Result<(), Error> {
        let ids = list(ids);
        let ended = match is_kept {
            true => self.write(KEEP_DONE, vec![Value::Int(now), ids]),
            false => self.write(REMOVE, vec![ids]),
        };
        ended.map(drop)
    }

    /// Has a job run again at `due`. `error` is JSON.
    pub(crate) fn again(self, id: i64, due: i64, error: String) -> Result<(), Error> {
        self.write(AGAIN, vec![Value::Int(due), error.into(), Value::Int(id)])
            .map(drop)
    }

    /// Changes the arguments of a job.
    pub(crate) fn set_args(self, id: i64, args: &str) -> Result<(), Error> {
        self.write(SET_ARGS, vec![args.into(), Value::Int(id)])
            .map(drop)
    }

    /// Ends a job as dead. `error` is JSON.
    pub(crate) fn die(self, id: i64, now: i64, error: String) -> Result<(), Error> {
        self.write(DIE, vec![Value::Int(now), error.into(), Value::Int(id)])
            .map(drop)
    }

    /// Writes the progress of a job.
    pub(crate) fn progress(
        self,
        id: i64,
        progress: f64,
        text: Option<String>,
    ) -> Result<(), Error> {
        let text = text.map_or(Value::Null, Value::Text);
        self.write(PROGRESS, vec![Value::Float(progress), text, Value::Int(id)])
            .map(drop)
    }

    /// Removes jobs that ended in a state before a time. Returns the number.
    pub(crate) fn prune(self, state: &str, before: i64, count_max: usize) -> Result<i64, Error> {
        self.write(
            PRUNE,
            vec![
                state.into(),
                Value::Int(before),
                Value::Int(count_max as i64),
            ],
        )
    }
}
