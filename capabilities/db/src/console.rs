//! The database for people: any SQL with its rows, plans in plain words, the schema, dumps.
//!
//! Nothing here runs for a script. A [`Console`] has a connection of its own without the limits of scripts. Unless it
//! is opened for writing, an authorizer lets only reading statements pass.

mod dump;
mod load;
mod read_only;
pub mod statements;

pub use dump::DumpError;
pub use load::{Keys, LoadReport};

use crate::config::DatabaseConfig;
use crate::plan::{self, PlanStep};
use crate::sqlite::error::words;
use crate::sqlite::open::Role;
use crate::sqlite::open::{explain, open};
use read_only::ReadOnly;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, InterruptHandle};
use sampan_host::statement_text::position;
use sampan_host::{Error, ErrorKind};
use statements::{Statement, statements};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The largest value. Shown as text it takes twice as much memory.
const CELL_BYTES_MAX: i32 = 128 * 1024 * 1024;

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// NULL.
    Null,
    /// INTEGER.
    Int(i64),
    /// REAL.
    Real(f64),
    /// TEXT, with what is not UTF-8 as it is.
    Text(&'a [u8]),
    /// BLOB.
    Blob(&'a [u8]),
}

/// Receives what a statement gives.
pub trait Output {
    /// A statement that has rows begins: their columns.
    ///
    /// # Errors
    /// It cannot be written.
    fn columns(&mut self, names: &[&str]) -> io::Result<()>;
    /// A row.
    ///
    /// # Errors
    /// It cannot be written.
    fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()>;
    /// All rows were given.
    ///
    /// # Errors
    /// It cannot be written.
    fn end(&mut self) -> io::Result<()>;
    /// A statement without rows is done, and changed so many.
    ///
    /// # Errors
    /// It cannot be written.
    fn changed(&mut self, rows: u64) -> io::Result<()>;
    /// The plan of a statement that began with EXPLAIN.
    ///
    /// # Errors
    /// It cannot be written.
    fn plan(&mut self, steps: &[PlanStep]) -> io::Result<()>;
}

/// The reason why a text did not run to its end.
#[derive(Debug)]
pub enum RunError {
    /// A statement failed.
    Sql(SqlFault),
    /// The statement was stopped by its [`Interrupt`].
    Interrupted,
    /// The output could not be written.
    Output(io::Error),
}

/// A statement that failed.
#[derive(Debug, PartialEq, Eq)]
pub struct SqlFault {
    /// The message of SQLite, with advice.
    pub message: String,
    /// The line of the text, from 1.
    pub line: usize,
    /// The character in that line, from 1.
    pub column: usize,
    /// The line itself.
    pub text: String,
}

/// Stops what runs on a [`Console`], from any thread.
#[derive(Clone)]
pub struct Interrupt(Arc<InterruptHandle>);

impl Interrupt {
    /// Stops it. Without a statement that runs this does nothing.
    pub fn stop(&self) {
        self.0.interrupt();
    }
}

/// A connection for people.
pub struct Console {
    sqlite: Connection,
    read_only: Option<Arc<ReadOnly>>,
    path: PathBuf,
}

impl Console {
    /// Opens the database of `config`. It is created where there is none, if `is_writer`.
    ///
    /// # Errors
    /// There is no database, or it cannot be opened: one line that says what to do.
    pub fn open(config: &DatabaseConfig, is_writer: bool) -> Result<Self, Error> {
        config.check_file("use psql, pg_dump and pg_restore")?;
        let path = config.path.clone();
        if !is_writer && !path.is_file() {
            return Err(fault(format!(
                "there is no database {}: name it with --db, or start the project once",
                path.display()
            )));
        }
        let mut sqlite = open(config, Role::Maintenance).map_err(|fault| fault.error)?;
        let read_only = (!is_writer).then(Arc::<ReadOnly>::default);
        let set_up = sqlite
            .busy_timeout(Duration::from_millis(config.busy_millis_max))
            // No checkpointer copies the log of a long load.
            .and_then(|()| sqlite.execute_batch("PRAGMA wal_autocheckpoint=1000"))
            .and_then(|()| sqlite.set_limit(Limit::SQLITE_LIMIT_LENGTH, CELL_BYTES_MAX))
            .map(drop)
            .and_then(|()| match &read_only {
                Some(read_only) => read_only.install(&mut sqlite),
                None => Ok(()),
            });
        set_up.map_err(|error| explain(&error, &path).error)?;
        Ok(Self {
            sqlite,
            read_only,
            path,
        })
    }

    /// Returns the handle that stops the statements.
    pub fn interrupt(&self) -> Interrupt {
        Interrupt(Arc::new(self.sqlite.get_interrupt_handle()))
    }

    /// Reports whether a transaction is open.
    pub fn in_transaction(&self) -> bool {
        !self.sqlite.is_autocommit()
    }

    /// Runs the statements of a text, one after the other, up to the first that fails.
    ///
    /// # Errors
    /// A statement fails, is stopped, or its rows cannot be written.
    pub fn run(&self, text: &str, output: &mut dyn Output) -> Result<(), RunError> {
        for statement in statements(text) {
            self.run_one(text, &statement, output)?;
        }
        Ok(())
    }

    fn run_one(
        &self,
        text: &str,
        statement: &Statement<'_>,
        output: &mut dyn Output,
    ) -> Result<(), RunError> {
        let failed = |error: rusqlite::Error| self.failed(&error, text, statement.at);
        if let Some(explained) = plan::explained(statement.sql) {
            let steps = match &self.read_only {
                Some(read_only) => read_only.lifted(|| plan::steps(&self.sqlite, explained)),
                None => plan::steps(&self.sqlite, explained),
            };
            let at = statement.at + (statement.sql.len() - explained.len());
            let steps = steps.map_err(|error| self.failed(&error, text, at))?;
            return output.plan(&steps).map_err(RunError::Output);
        }
        let before = self.sqlite.total_changes();
        let mut prepared = self.sqlite.prepare(statement.sql).map_err(failed)?;
        if prepared.parameter_count() > 0 {
            let message =
                "a parameter: nothing can be given for it here; write the value".to_owned();
            return Err(RunError::Sql(place(text, statement.at, message)));
        }
        let count = prepared.column_count();
        if count > 0 {
            let names: Vec<&str> = prepared.column_names().collect();
            output.columns(&names).map_err(RunError::Output)?;
        }
        let mut rows = prepared.raw_query();
        while let Some(row) = rows.next().map_err(failed)? {
            let cells = (0..count).map(|at| row.get_ref(at).map(cell));
            let cells: Vec<Cell<'_>> = cells.collect::<Result<_, _>>().map_err(failed)?;
            output.row(&cells).map_err(RunError::Output)?;
        }
        drop(rows);
        let done = match count {
            0 => output.changed(self.changes_since(before)),
            _ => output.end(),
        };
        done.map_err(RunError::Output)
    }

    /// Returns the number of rows that the last statement changed itself, without those of triggers and foreign key
    /// actions. `before` is the total before it.
    fn changes_since(&self, before: u64) -> u64 {
        // What is not INSERT, UPDATE or DELETE leaves the number of an earlier statement.
        match self.sqlite.total_changes() == before {
            true => 0,
            false => self.sqlite.changes(),
        }
    }

    /// The names of its tables and views; of the tables that SQLite keeps for others, none.
    ///
    /// # Errors
    /// The schema cannot be read.
    pub fn tables(&self) -> Result<Vec<String>, Error> {
        self.names(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'view', 'virtual')
             AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
            "",
        )
    }

    /// The statements that made the schema, or those of the table, view, index or trigger `name`.
    ///
    /// # Errors
    /// The schema cannot be read, or has no such name.
    pub fn schema(&self, name: Option<&str>) -> Result<Vec<String>, Error> {
        let found = self.names(
            "SELECT sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL AND (?1 = '' OR name = ?1 COLLATE NOCASE
                OR tbl_name = ?1 COLLATE NOCASE)
             AND name NOT IN (SELECT name FROM pragma_table_list WHERE type = 'shadow')
             ORDER BY tbl_name COLLATE NOCASE, type <> 'table', name",
            name.unwrap_or_default(),
        )?;
        match name {
            Some(name) if found.is_empty() => Err(fault(format!(
                "the database has no table, view or index {name}: .tables shows what there is"
            ))),
            _ => Ok(found),
        }
    }

    /// Returns the indexes, each as the name, the table and the columns.
    ///
    /// # Errors
    /// The schema cannot be read.
    pub fn indexes(&self) -> Result<Vec<String>, Error> {
        self.names(
            "SELECT s.name || ' on ' || s.tbl_name || '(' ||
                (SELECT group_concat(ifnull(i.name, 'an expression'), ', ') FROM pragma_index_info(s.name) AS i) || ')'
             FROM sqlite_schema AS s WHERE s.type = 'index' ORDER BY s.tbl_name, s.name",
            "",
        )
    }

    /// Returns the words for completion: tables, views and their columns.
    pub fn words(&self) -> Vec<String> {
        let sql = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') UNION
             SELECT c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type IN ('table', 'view')";
        // Without them nothing is completed, which is not a reason to say anything.
        self.names(sql, "").unwrap_or_default()
    }

    /// The first column of a statement of our own, which may have a parameter.
    fn names(&self, sql: &str, parameter: &str) -> Result<Vec<String>, Error> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.sqlite.prepare(sql)?;
            if statement.parameter_count() > 0 {
                statement.raw_bind_parameter(1, parameter)?;
            }
            let mut rows = statement.raw_query();
            let mut names = Vec::new();
            while let Some(row) = rows.next()? {
                names.push(row.get(0)?);
            }
            Ok(names)
        };
        read().map_err(|error| explain(&error, &self.path).error)
    }

    /// Returns the error of the statement that begins at the byte `start`.
    fn failed(&self, error: &rusqlite::Error, text: &str, start: usize) -> RunError {
        if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) {
            return RunError::Interrupted;
        }
        let refusal = self.read_only.as_ref();
        let refusal = refusal.and_then(|read_only| read_only.take_refusal(error));
        let at = match error {
            rusqlite::Error::SqlInputError { offset, .. } => {
                start + usize::try_from(*offset).unwrap_or(0)
            }
            _ => start,
        };
        RunError::Sql(place(text, at, refusal.unwrap_or_else(|| words(error))))
    }
}

/// A fault at a byte of the text.
fn place(text: &str, at: usize, message: String) -> SqlFault {
    let (line, column) = position(text, at);
    let shown = text.lines().nth(line - 1).unwrap_or_default();
    SqlFault {
        message,
        line,
        column,
        text: shown.to_owned(),
    }
}

fn cell(value: ValueRef<'_>) -> Cell<'_> {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Int(number),
        ValueRef::Real(number) => Cell::Real(number),
        ValueRef::Text(bytes) => Cell::Text(bytes),
        ValueRef::Blob(bytes) => Cell::Blob(bytes),
    }
}

fn fault(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Internal, message)
}

#[cfg(test)]
mod tests;
