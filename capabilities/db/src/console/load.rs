//! Runs a file of SQL: all of it, or nothing.

use super::statements::{Statement, statements};
use super::{Console, RunError, SqlFault, place};

/// The treatment of foreign keys while a file is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// They are checked as ever.
    Checked,
    /// They are checked at the end: rows may come before those that they refer to, as in a dump.
    CheckedAtEnd,
}

/// The result of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Statements.
    pub statements: u64,
    /// Rows that they changed themselves, without those of triggers and foreign key actions.
    pub changes: u64,
}

impl Console {
    /// Runs the statements of a text in one transaction. Those that would begin or end one are passed over, since dumps
    /// have them.
    /// `progress` is told after some of them how many bytes are done.
    ///
    /// # Errors
    /// A statement fails or is stopped. Nothing of the text is kept then.
    pub fn load(
        &self,
        text: &str,
        keys: Keys,
        progress: &mut dyn FnMut(usize),
    ) -> Result<LoadReport, RunError> {
        let begin = match keys {
            Keys::Checked => "PRAGMA foreign_keys=ON; BEGIN IMMEDIATE",
            // Within a transaction the PRAGMA would do nothing.
            Keys::CheckedAtEnd => "PRAGMA foreign_keys=OFF; BEGIN IMMEDIATE",
        };
        let ran = self
            .plain(begin)
            .and_then(|()| self.load_all(text, progress))
            .map_err(|error| match keys {
                Keys::Checked => error,
                Keys::CheckedAtEnd => with_advice(error),
            })
            .and_then(|report| {
                if keys == Keys::CheckedAtEnd {
                    self.check_keys()?;
                }
                self.plain("COMMIT").map(|()| report)
            });
        if ran.is_err() && self.in_transaction() {
            // If this fails too, closing the connection takes everything back.
            let _ = self.sqlite.execute_batch("ROLLBACK");
        }
        ran
    }

    fn plain(&self, sql: &str) -> Result<(), RunError> {
        let done = self.sqlite.execute_batch(sql);
        done.map_err(|error| self.failed(&error, sql, 0))
    }

    fn load_all(
        &self,
        text: &str,
        progress: &mut dyn FnMut(usize),
    ) -> Result<LoadReport, RunError> {
        const TOLD_EACH: u64 = 1024;
        let mut report = LoadReport::default();
        for statement in statements(text) {
            let failed = |error: rusqlite::Error| self.failed(&error, text, statement.at);
            if is_skipped(&statement) {
                continue;
            }
            let mut prepared = self.sqlite.prepare(statement.sql).map_err(failed)?;
            if prepared.parameter_count() > 0 {
                let message = "a parameter: nothing can be given for it in a file".to_owned();
                return Err(RunError::Sql(place(text, statement.at, message)));
            }
            let before = self.sqlite.total_changes();
            let mut rows = prepared.raw_query();
            while rows.next().map_err(failed)?.is_some() {}
            report.changes += self.changes_since(before);
            if !self.in_transaction() {
                let message = "this ended the transaction of the file".to_owned();
                return Err(RunError::Sql(place(text, statement.at, message)));
            }
            report.statements += 1;
            if report.statements.is_multiple_of(TOLD_EACH) {
                progress(statement.at);
            }
        }
        Ok(report)
    }

    /// Looks for a row that refers to none.
    fn check_keys(&self) -> Result<(), RunError> {
        let look = || -> rusqlite::Result<Option<String>> {
            let mut statement = self.sqlite.prepare("PRAGMA foreign_key_check")?;
            let mut rows = statement.query(())?;
            let Some(row) = rows.next()? else {
                return Ok(None);
            };
            let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
            Ok(Some(format!(
                "FOREIGN KEY constraint failed: a row of {table} refers to a row of {parent} that does not exist"
            )))
        };
        match look() {
            Ok(None) => Ok(()),
            Ok(Some(message)) => Err(RunError::Sql(SqlFault {
                message,
                line: 0,
                column: 0,
                text: String::new(),
            })),
            Err(error) => Err(self.failed(&error, "", 0)),
        }
    }
}

/// Says what to do with a dump that makes what is there already.
fn with_advice(error: RunError) -> RunError {
    match error {
        RunError::Sql(mut fault) if fault.message.ends_with("already exists") => {
            fault.message +=
                ": a dump makes its tables itself, so load it into a new file (--db FILE)";
            RunError::Sql(fault)
        }
        error => error,
    }
}

/// Reports whether a statement is one of those around the others in a dump.
fn is_skipped(statement: &Statement<'_>) -> bool {
    let sql = statement.sql.trim_end_matches(';').trim_end();
    let mut words = sql.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    let is = |word: &str| first.eq_ignore_ascii_case(word);
    if is("PRAGMA") {
        let what: String = words.collect();
        return what.to_ascii_lowercase().starts_with("foreign_keys");
    }
    let is_short = words.all(|word| {
        ["TRANSACTION", "IMMEDIATE", "EXCLUSIVE", "DEFERRED"]
            .iter()
            .any(|it| it.eq_ignore_ascii_case(word))
    });
    is_short && (is("BEGIN") || is("COMMIT") || is("END"))
}
