//! The server's own statements in the database beside the tables of its scripts: statements of capabilities, past the
//! authorizer.
//!
//! They take part in groups as a script's do, but no route counts as one that writes because of them: a page that shows
//! a message once does not take the write connection each time. A capability whose function is a write of the script,
//! such as `app.enqueue`, says so (`AppTables::note_write`).

use crate::group_commit::worker::{Db, GroupState, WorkerDb};
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::error::{ErrorCode, StatementError};
use crate::sqlite::run::RunLimits;
use sampan_host::{Error, ErrorKind, Rows, Value};
use std::time::Duration;

/// The most memory of the rows of one result, in bytes: the greatest of `result_bytes_max`. Capabilities ask for few
/// rows.
const RESULT_BYTES_MAX: usize = (4 << 30) - 1;

impl Db {
    /// The rows of a statement that reads, as this worker's requests see them. None where it names a table that is not
    /// there.
    ///
    /// # Errors
    /// The error of SQLite.
    pub fn own_read(&self, sql: &str, params: &Value) -> Result<Option<Rows>, Error> {
        self.timed(|db| db.own_read(sql, params))
    }

    /// Joins the open group of writes or begins one, so that no other write comes between this read and this write.
    ///
    /// # Errors
    /// It cannot be begun. Of kind [`ErrorKind::TooLong`] where it would have to wait for the write connection: try
    /// again after [`Db::writable`].
    pub fn own_begin(&self) -> Result<(), Error> {
        self.timed(WorkerDb::own_begin)
    }

    /// Begins as [`Db::own_begin`] does, but waits in place for the write connection, as the first write of a route
    /// does.
    ///
    /// # Errors
    /// It cannot be begun, or had to wait for a transaction.
    pub fn own_begin_in_place(&self) -> Result<(), Error> {
        self.timed(WorkerDb::own_begin_in_place)
    }

    /// Runs a statement that writes, in the open group or a new one. Tells how many rows it changed; nothing where it
    /// names a table that is not there.
    ///
    /// # Errors
    /// The error of SQLite, and as [`Db::own_begin`].
    pub fn own_write(&self, sql: &str, params: &Value) -> Result<Option<i64>, Error> {
        self.timed(|db| db.own_write(sql, params))
    }

    /// Runs `work` in a savepoint of the open group or a new one: where it fails, nothing of it is kept.
    ///
    /// # Errors
    /// Those of `work`, and as [`Db::own_begin`].
    pub(crate) fn own_atomically(
        &self,
        work: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let depth = self.timed(WorkerDb::own_enter)?;
        let done = work();
        let left = self.timed(|db| db.own_leave(depth, done.is_ok()));
        done.and(left)
    }
}

/// A table that is not there, in SQLite's words.
fn is_no_table(error: &Error) -> bool {
    error.message().starts_with("no such table")
}

/// Returns the error of a statement of the server's own that took too long: for the people who run the server, as no
/// script can change the statement.
fn own_fault(fault: StatementError, run: &RunLimits<'_>, sql: &str) -> StatementError {
    let Some(limit) = run.limit.filter(|_| fault.code == ErrorCode::Timeout) else {
        return fault;
    };
    let text = format!(
        "a statement of the server itself ran longer than {} ({} ms): {sql:?}",
        run.limit_name,
        limit.as_millis()
    );
    // Not `TooLong`: waiting for the write connection would not help.
    StatementError::new(ErrorKind::Unavailable, ErrorCode::Timeout, text)
}

pub(crate) fn unless_missing<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(done) => Ok(Some(done)),
        Err(error) if is_no_table(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

impl WorkerDb {
    fn own_limits(&self, millis: u64, limit_name: &'static str) -> RunLimits<'_> {
        RunLimits {
            limit: Some(Duration::from_millis(millis)),
            must_stop: None,
            first_only: false,
            result_bytes_max: RESULT_BYTES_MAX,
            limit_name,
        }
    }

    fn own_read(&self, sql: &str, params: &Value) -> Result<Option<Rows>, Error> {
        self.check_entry()?;
        self.commit_before_lonely(sql)?;
        let config = &self.database.config;
        // Scripts have a limit that is meant for them, which may be very short.
        let limits = match config.query_inline_millis_max > config.statement_millis_max {
            true => self.own_limits(config.query_inline_millis_max, "query_inline_millis_max"),
            false => self.own_limits(config.statement_millis_max, "statement_millis_max"),
        };
        let read = |connection: &SqliteConnection| {
            let rows = connection.own_query(sql, params, &limits);
            rows.map_err(|fault| own_fault(fault, &limits, sql))
        };
        let within = match &*self.group.borrow() {
            GroupState::Open(group) => Some(read(&group.writer)),
            _ => None,
        };
        let result = match within {
            Some(result) => result.map_err(|fault| self.examine(sql, fault, 0)),
            None => {
                let reader = self.reader()?;
                self.reads.begin(reader, &self.database.commits);
                read(reader).map_err(|fault| fault.error)
            }
        };
        unless_missing(result)
    }

    fn own_begin_in_place(&self) -> Result<(), Error> {
        self.check_entry()?;
        let wrote = self.wrote.get();
        let opened = self.open_in_place(false);
        self.wrote.set(wrote);
        self.tell();
        opened
    }

    /// Takes note that the run that goes on writes, unless it is refused because of its own transaction.
    pub(crate) fn note_write(&self) {
        if !self.is_in_transaction() {
            self.wrote.set(true);
            self.behind.note_write();
        }
    }

    fn own_begin(&self) -> Result<(), Error> {
        self.check_entry()?;
        let wrote = self.wrote.get();
        let opened = if self.is_open() || self.begins_at_once() {
            self.open_in_place(true)
        } else {
            Err(must_wait())
        };
        self.wrote.set(wrote);
        // It may not be a run of a script that writes: then no other code reports that there is something to commit.
        self.tell();
        opened
    }

    fn own_write(&self, sql: &str, params: &Value) -> Result<Option<i64>, Error> {
        self.own_begin()?;
        let limits = self.own_limits(self.database.config.write_millis_max, "write_millis_max");
        let written = self.write_one(sql, |writer| {
            let written = writer.own_query(sql, params, &limits);
            written.map_err(|fault| own_fault(fault, &limits, sql))?;
            Ok(i64::try_from(writer.sqlite().changes()).unwrap_or(i64::MAX))
        });
        unless_missing(written)
    }

    fn own_enter(&self) -> Result<u32, Error> {
        self.own_begin()?;
        let wrote = self.wrote.get();
        let depth = self.enter_batch(true);
        self.wrote.set(wrote);
        depth
    }

    fn own_leave(&self, depth: u32, keep: bool) -> Result<(), Error> {
        let left = self.leave_batch(depth, keep);
        let is_alone = self.depth.get() == 0 && !self.is_loading.get();
        if is_alone && self.current_owner().is_none() {
            // No script goes on that could take lost writes for kept ones, and no run ends that would clear this.
            self.is_lost.set(false);
        }
        left
    }
}

fn must_wait() -> Error {
    let text = "another request has the write connection";
    ErrorCode::Busy.error(ErrorKind::TooLong, text)
}
