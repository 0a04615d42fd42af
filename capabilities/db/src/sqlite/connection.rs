//! One connection to the database: how it is opened, and the statements that it keeps prepared.
//!
//! A statement is looked up by its text in [`crate::sqlite::prepared`], stepped to its end and reset before anything
//! else happens, so no statement is ever open between two calls.

use crate::config::DatabaseConfig;
use crate::sql_policy::authorizer::{self, Authorizer};
use crate::sqlite::error::{ErrorCode, StatementError, words};
use crate::sqlite::file::KnownFile;
use crate::sqlite::limits::SQL_BYTES_MAX;
use crate::sqlite::memory;
use crate::sqlite::open::{self, Role};
use crate::sqlite::params;
use crate::sqlite::prepared::Prepared;
use crate::sqlite::rows;
use crate::sqlite::run::{Done, MemoryLimit, RunGuard, RunLimits, Trouble};
use crate::sqlite::statement::{Execution, Statement};
use crate::sqlite::status;
use rusqlite::ErrorCode as SqliteCode;
use rusqlite::config::DbConfig;
use sampan_host::{Rows, Value};
use std::cell::RefMut;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A connection. It may move between threads; one uses it at a time.
pub(crate) struct SqliteConnection {
    prepared: Prepared,
    authorizer: Arc<Authorizer>,
    guard: Arc<RunGuard>,
    /// The memory for a statement of a script.
    memory: MemoryLimit,
    role: Role,
    wal_pages: Arc<AtomicU32>,
    file: KnownFile,
    path: PathBuf,
}

impl SqliteConnection {
    /// Opens the file of `config`, creating it where there is none.
    ///
    /// # Errors
    /// A file that is not a database, that cannot be created, read or written, or that another process keeps locked.
    pub(crate) fn open(config: &DatabaseConfig, role: Role) -> Result<Self, StatementError> {
        let mut sqlite = open::open(config, role)?;
        let memory = match role {
            Role::Reader | Role::Writer => MemoryLimit {
                statement_bytes_max: config.statement_bytes_max,
                cache_bytes: u64::from(config.cache_kib) * 1024,
            },
            Role::Maintenance => MemoryLimit::NONE,
        };
        let (authorizer, guard) = (
            Arc::new(Authorizer::default()),
            Arc::new(RunGuard::default()),
        );
        let installed = guard.install(&mut sqlite).and_then(|()| match role {
            Role::Reader | Role::Writer => authorizer.install(&mut sqlite),
            Role::Maintenance => Ok(()),
        });
        let wal_pages = Arc::new(AtomicU32::new(0));
        let installed = installed.and_then(|()| count_pages(&mut sqlite, role, &wal_pages));
        installed.map_err(|error| StatementError::of(&error, ""))?;
        Ok(Self {
            prepared: Prepared::new(sqlite, config.statements_max),
            authorizer,
            guard,
            memory,
            role,
            wal_pages,
            file: config.file.clone(),
            path: config.path.clone(),
        })
    }

    /// Reports whether the statement writes nothing.
    ///
    /// # Errors
    /// A statement that does not prepare, that is refused, or that is not exactly one.
    pub(crate) fn is_readonly(&self, sql: &str) -> Result<bool, StatementError> {
        Ok(self.known(sql)?.readonly)
    }

    /// Runs the statement and returns its rows.
    ///
    /// # Errors
    /// Statements that [`SqliteConnection::is_readonly`] refuses, parameters that do not fit, and what fails
    /// while it runs.
    pub(crate) fn query(
        &self,
        sql: &str,
        params: &Value,
        run: &RunLimits<'_>,
    ) -> Result<Rows, StatementError> {
        let fetch = || {
            self.with(sql, run, |execution| {
                params::bind(execution, params)?;
                rows::rows(execution, run)
            })
        };
        if self.in_transaction() && self.known(sql)?.returns {
            // All is written before the first row comes, so that a result that is too large has to be undone by us.
            return self.undone_by_error(fetch);
        }
        fetch()
    }

    /// Runs the statement to its end and tells what it changed.
    ///
    /// # Errors
    /// As [`SqliteConnection::query`].
    pub(crate) fn exec(
        &self,
        sql: &str,
        params: &Value,
        run: &RunLimits<'_>,
    ) -> Result<Done, StatementError> {
        self.with(sql, run, |execution| {
            params::bind(execution, params)?;
            if !execution.counts {
                execution.finish()?;
                return Ok(Done::default());
            }
            status::forget_last_id(self.sqlite());
            execution.finish()?;
            Ok(Done {
                changes: i64::try_from(self.sqlite().changes()).unwrap_or(i64::MAX),
                last_id: self.sqlite().last_insert_rowid(),
            })
        })
    }

    /// Runs one of our own statements, which the authorizer would refuse to a script, without limits.
    ///
    /// # Errors
    /// The error of SQLite.
    pub(crate) fn control(&self, sql: &str) -> Result<(), StatementError> {
        self.authorizer
            .bypassed(|| self.prepared.control(sql)?.start().finish())
            .map_err(|trouble| self.fault(trouble, sql, None))
    }

    /// Runs a statement of our own as [`SqliteConnection::query`] does, and returns its rows.
    ///
    /// # Errors
    /// As there; nothing is refused.
    pub(crate) fn own_query(
        &self,
        sql: &str,
        params: &Value,
        run: &RunLimits<'_>,
    ) -> Result<Rows, StatementError> {
        let work = || {
            let mut statement = self.prepared.control(sql)?;
            let mut execution = statement.start();
            params::bind(&mut execution, params)?;
            rows::rows(&mut execution, run)
        };
        let done = self
            .authorizer
            .bypassed(|| self.guard.during(run, MemoryLimit::NONE, work));
        done.map_err(|trouble| self.fault(trouble, sql, Some(run)))
    }

    /// Commits the open transaction.
    ///
    /// # Errors
    /// The error of SQLite; or the file or its log was removed or replaced, so that the commit is lost.
    pub(crate) fn commit(&self) -> Result<(), StatementError> {
        self.control("COMMIT")?;
        match self.file.has_left(&self.path) {
            true => Err(open::gone(&self.path)),
            false => Ok(()),
        }
    }

    /// Reports whether a transaction is open.
    pub(crate) fn in_transaction(&self) -> bool {
        !self.sqlite().is_autocommit()
    }

    /// Reports whether the open transaction violates deferred foreign keys.
    pub(crate) fn deferred_violations(&self) -> bool {
        status::deferred_violations(self.sqlite())
    }

    /// Pages in the write-ahead log after the last commit of this connection.
    pub(crate) fn wal_pages(&self) -> u32 {
        self.wal_pages.load(Relaxed)
    }

    /// The limits of what runs on the connection.
    pub(crate) fn guard(&self) -> &RunGuard {
        &self.guard
    }

    /// The connection itself, for what only its owner needs. Statements prepared here pass the authorizer like a
    /// script's.
    pub(crate) fn sqlite(&self) -> &rusqlite::Connection {
        self.prepared.sqlite()
    }

    /// Does `work` within a savepoint, to which an error returns.
    fn undone_by_error<T>(
        &self,
        work: impl FnOnce() -> Result<T, StatementError>,
    ) -> Result<T, StatementError> {
        self.control("SAVEPOINT sampan_returning")?;
        let result = work();
        // Some errors undo the whole transaction, and the savepoint with it.
        if result.is_err() && self.in_transaction() {
            self.control("ROLLBACK TO sampan_returning")?;
        }
        if self.in_transaction() {
            self.control("RELEASE sampan_returning")?;
        }
        result
    }

    /// The statement, for what is known about it.
    fn known(&self, sql: &str) -> Result<RefMut<'_, Statement>, StatementError> {
        self.find(sql)
            .map_err(|trouble| self.fault(trouble, sql, None))
    }

    /// Works with the statement within the limits of `run`.
    fn with<T>(
        &self,
        sql: &str,
        run: &RunLimits<'_>,
        work: impl FnOnce(&mut Execution<'_>) -> Result<T, Trouble>,
    ) -> Result<T, StatementError> {
        let result = self
            .guard
            .during(run, self.memory, || work(&mut self.find(sql)?.start()));
        result.map_err(|trouble| self.fault(trouble, sql, Some(run)))
    }

    /// Finds the statement, or prepares it.
    fn find(&self, sql: &str) -> Result<RefMut<'_, Statement>, Trouble> {
        let text = trimmed(sql);
        self.prepared.script(text, || check(text, self.role))
    }

    /// The error that the script sees.
    fn fault(&self, trouble: Trouble, sql: &str, run: Option<&RunLimits<'_>>) -> StatementError {
        let is_preparing = matches!(trouble, Trouble::Preparing(_));
        let error = match trouble {
            Trouble::Refused(code, message, hint) => {
                let mut refused = StatementError::refused(code, &message, sql);
                refused.error = refused.error.with_hint(hint);
                return refused;
            }
            Trouble::Sqlite(error) | Trouble::Preparing(error) => {
                status::with_cause(self.sqlite(), error)
            }
        };
        if status::is_out_of_memory(&error) && memory::was_refused() && run.is_some() {
            return self.memory.used_up(sql);
        }
        match error.sqlite_error_code() {
            Some(SqliteCode::AuthorizationForStatementDenied) => {
                if let Some(refusal) = self.authorizer.take_refusal() {
                    return StatementError::refused(ErrorCode::Denied, &refusal, sql);
                }
            }
            Some(SqliteCode::OperationInterrupted) => {
                if let Some(fault) = run.and_then(|run| self.guard.reason(run, sql)) {
                    return fault;
                }
            }
            Some(SqliteCode::ReadOnly) if self.role == Role::Reader => {
                // The connection is read-only by intention; the disk is not at fault.
                return StatementError::refused(ErrorCode::Denied, &words(&error), sql);
            }
            _ if is_preparing => return StatementError::of_preparing(&error, sql),
            _ => {}
        }
        StatementError::of(&error, sql)
    }
}

impl Drop for SqliteConnection {
    /// The last connection that closes copies the log and deletes the file of that name. Another process may have
    /// written a log there since ours was removed: that one stays.
    fn drop(&mut self) {
        if self.file.has_other_log() {
            let keeps = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
            // It fails only for settings that SQLite does not know.
            let _ = self.sqlite().set_db_config(keeps, true);
        }
    }
}

/// Has the writer tell the length of the log after each commit.
fn count_pages(
    sqlite: &mut rusqlite::Connection,
    role: Role,
    pages: &Arc<AtomicU32>,
) -> rusqlite::Result<()> {
    if role != Role::Writer {
        return Ok(());
    }
    let pages = Arc::clone(pages);
    sqlite.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, count| {
        pages.store(u32::try_from(count).unwrap_or(0), Relaxed);
        Ok(())
    }))
}

/// Refuses what SQLite would not, or not for a reason that a script's author understands.
fn check(text: &str, role: Role) -> Result<(), Trouble> {
    let refused = |code, message: String| Err(Trouble::Refused(code, message, None));
    let bytes = text.len();
    if bytes > SQL_BYTES_MAX {
        let message =
            format!("the statement has {bytes} bytes; at most {SQL_BYTES_MAX} are allowed");
        return refused(ErrorCode::TooLarge, message);
    }
    if text.as_bytes().contains(&0) {
        let message = "the statement contains a NUL byte: pass such values as parameters";
        return refused(ErrorCode::Syntax, message.to_owned());
    }
    match authorizer::refused_by_word(authorizer::first_word(text)) {
        Some(message) if role != Role::Maintenance => {
            refused(ErrorCode::Denied, message.to_owned())
        }
        _ => Ok(()),
    }
}

/// The statement without the space around it, which few have.
fn trimmed(sql: &str) -> &str {
    let is_graphic = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    let bytes = sql.as_bytes();
    if is_graphic(bytes.first()) && is_graphic(bytes.last()) {
        return sql;
    }
    sql.trim()
}

#[cfg(test)]
pub(crate) mod testing {
    //! The common setup of the statements' tests.

    use super::*;
    use crate::test_folder::TestFolder;
    use std::time::Duration;

    /// A database of its own, with a connection that writes.
    pub(crate) fn scratch() -> (TestFolder, DatabaseConfig, SqliteConnection) {
        let folder = TestFolder::new();
        let config = DatabaseConfig::new(folder.path("data.db"));
        let writer = SqliteConnection::open(&config, Role::Writer).expect("a fresh database");
        (folder, config, writer)
    }

    /// All rows, within limits that no test of something else meets.
    pub(crate) fn all() -> RunLimits<'static> {
        RunLimits {
            limit: Some(Duration::from_secs(30)),
            must_stop: None,
            first_only: false,
            result_bytes_max: 64 * 1024 * 1024,
            limit_name: "query_inline_millis_max",
        }
    }

    impl SqliteConnection {
        /// Runs it and returns its rows.
        pub(crate) fn rows(&self, sql: &str) -> Rows {
            self.query(sql, &Value::Null, &all()).expect(sql)
        }

        /// Runs it for what it changes.
        pub(crate) fn done(&self, sql: &str) -> Done {
            self.exec(sql, &Value::Null, &all()).expect(sql)
        }

        /// Returns the error for running it.
        pub(crate) fn refusal(&self, sql: &str) -> String {
            let fault = self.query(sql, &Value::Null, &all()).expect_err(sql);
            fault.error.message().to_owned()
        }
    }
}

#[cfg(test)]
mod prepared_tests;
#[cfg(test)]
mod tests;
