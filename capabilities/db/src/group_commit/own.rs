//! The server's own statements in the database beside the tables of its scripts: statements of capabilities, past the
//! authorizer.
//!
//! They take part in groups as a script's do, but no route counts as one that writes because of them: a page that shows
//! a message once does not take the write connection each time.

use crate::group_commit::worker::{Db, GroupState, WorkerDb};
use crate::sqlite::error::ErrorCode;
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

    /// As [`Db::own_begin`], but waits in place for the write connection, as the first write of a route does.
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
}

/// A table that is not there, in SQLite's words.
fn is_no_table(error: &Error) -> bool {
    error.message().starts_with("no such table")
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
        let limits = self.own_limits(
            self.database.config.query_inline_millis_max,
            "query_inline_millis_max",
        );
        let within = match &*self.group.borrow() {
            GroupState::Open(group) => Some(group.writer.own_query(sql, params, &limits)),
            _ => None,
        };
        let result = match within {
            Some(result) => result.map_err(|fault| self.examine(sql, fault)),
            None => {
                let reader = self.reader()?;
                self.reads.begin(reader, &self.database.commits);
                let rows = reader.own_query(sql, params, &limits);
                rows.map_err(|fault| fault.error)
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
            writer.own_query(sql, params, &limits)?;
            Ok(i64::try_from(writer.sqlite().changes()).unwrap_or(i64::MAX))
        });
        unless_missing(written)
    }
}

fn must_wait() -> Error {
    let text = "another request has the write connection";
    ErrorCode::Busy.error(ErrorKind::TooLong, text)
}
