//! Applies a migration to a file of SQLite.

use super::faults::{failed, failed_at};
use super::files::File;
use super::own_names;
use super::split::{SplitError, Statements};
use crate::config::{DatabaseConfig, Durability};
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::error::{ErrorCode, words};
use crate::sqlite::open::Role;
use rusqlite::ErrorCode::OperationInterrupted;
use sampan_host::Error;
use std::time::{Duration, Instant};

/// The pause between two attempts to open a database that another process is just creating.
const PAUSE: Duration = Duration::from_millis(10);

const CREATE: &str = "CREATE TABLE IF NOT EXISTS _sampan_migrations(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT";

/// The time that a migration has where a project is only tried: its database is empty.
const TRIAL_TIME_MAX: Duration = Duration::from_secs(120);

/// Opens the database, creating it where there is none.
fn open(config: &DatabaseConfig) -> Result<SqliteConnection, Error> {
    let deadline = Instant::now() + Duration::from_millis(config.busy_millis_max);
    loop {
        match SqliteConnection::open(config, Role::Maintenance) {
            Err(fault) if fault.code == ErrorCode::Busy && Instant::now() < deadline => {
                std::thread::sleep(PAUSE);
            }
            result => return result.map_err(|fault| fault.error),
        }
    }
}

/// Applies one file on a connection of its own, so that no PRAGMA of one migration holds in the next. `false` if
/// another process has done so meanwhile; otherwise `begins` is called before the first statement.
///
/// # Errors
/// The database cannot be opened, or a statement fails: then nothing of the file is applied.
pub(super) fn apply(
    config: &DatabaseConfig,
    file: &File,
    begins: &mut dyn FnMut(),
) -> Result<bool, Error> {
    let connection = open(config)?;
    let sqlite = connection.sqlite();
    let begun = sqlite
        .busy_timeout(Duration::from_millis(config.busy_millis_max))
        // Within a transaction this would do nothing. A table that is rebuilt is dropped once, which must not delete
        // what refers to it.
        .and_then(|()| sqlite.execute_batch("PRAGMA foreign_keys=OFF; BEGIN IMMEDIATE"));
    let ended = begun
        .map_err(|error| failed(file, &words(&error)))
        .and_then(|()| match config.durability {
            Durability::Throwaway => connection
                .guard()
                .for_time(TRIAL_TIME_MAX, || within(sqlite, file, begins)),
            _ => within(sqlite, file, begins),
        })
        .and_then(|is_new| {
            let committed = sqlite.execute_batch("COMMIT");
            committed.map_err(|error| failed(file, &words(&error)))?;
            Ok(is_new)
        });
    if ended.is_err() && !sqlite.is_autocommit() {
        // If this fails too, closing the connection takes everything back.
        let _ = sqlite.execute_batch("ROLLBACK");
    }
    ended
}

/// Performs the steps between BEGIN and COMMIT.
fn within(
    sqlite: &rusqlite::Connection,
    file: &File,
    begins: &mut dyn FnMut(),
) -> Result<bool, Error> {
    let plain = |error: rusqlite::Error| failed(file, &words(&error));
    sqlite.execute_batch(CREATE).map_err(plain)?;
    let known = "SELECT checksum FROM _sampan_migrations WHERE id = ?";
    let mut known = sqlite.prepare(known).map_err(plain)?;
    let mut rows = known.query([file.id]).map_err(plain)?;
    if let Some(row) = rows.next().map_err(plain)? {
        let checksum: String = row.get(0).map_err(plain)?;
        return if checksum == file.checksum {
            Ok(false)
        } else {
            Err(failed(
                file,
                "another process has just applied another text of it",
            ))
        };
    }
    drop(rows);
    drop(known);
    begins();
    statements(sqlite, file)?;
    check_keys(sqlite, file)?;
    let record = "INSERT INTO _sampan_migrations(id, name, checksum, applied_at)
        VALUES (?, ?, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))";
    sqlite
        .execute(record, (file.id, &file.name, &file.checksum))
        .map_err(plain)?;
    Ok(true)
}

/// Runs the statements of the file, each to its end.
fn statements(sqlite: &rusqlite::Connection, file: &File) -> Result<(), Error> {
    let placed = |fault: SplitError| failed_at(file, &fault);
    let mut statements = Statements::new(sqlite, &file.text);
    let mut count = 0;
    while let Some((start, mut statement)) = statements.next().map_err(placed)? {
        if let Some(refusal) = own_names::refusal(&file.text[start..]) {
            return Err(placed(SplitError::at(start, refusal)));
        }
        let mut rows = statement.raw_query();
        loop {
            match rows.next() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) if error.sqlite_error_code() == Some(OperationInterrupted) => {
                    let seconds = TRIAL_TIME_MAX.as_secs();
                    let text = format!(
                        "stopped: where a project is only tried, a migration has {seconds} s; does it end?"
                    );
                    return Err(placed(SplitError::at(start, text)));
                }
                Err(error) => return Err(placed(SplitError::of(&error, start))),
            }
        }
        count += 1;
    }
    if count == 0 {
        // It is likely to be filled later, and would then count as changed.
        return Err(failed(
            file,
            "there is no statement in it: write it, or delete the file",
        ));
    }
    if sqlite.is_autocommit() {
        return Err(failed(file, "something in it ended the transaction"));
    }
    Ok(())
}

/// Looks for rows that refer to none, which were not checked while foreign keys were off.
fn check_keys(sqlite: &rusqlite::Connection, file: &File) -> Result<(), Error> {
    let look = || -> rusqlite::Result<Option<String>> {
        let mut statement = sqlite.prepare("PRAGMA foreign_key_check")?;
        let mut rows = statement.query(())?;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
        // A table without rowids has none to tell.
        let row = match row.get::<_, Option<i64>>(1)? {
            Some(rowid) => format!("row {rowid} of table {table}"),
            None => format!("a row of table {table}"),
        };
        let others = {
            let mut count = 0_u64;
            while rows.next()?.is_some() {
                count += 1;
            }
            count
        };
        let more = match others {
            0 => String::new(),
            1 => ", and another row does so too".to_owned(),
            _ => format!(", and {others} other rows do so too"),
        };
        Ok(Some(format!(
            "FOREIGN KEY constraint failed: {row} refers to a row of {parent} that does not exist{more}"
        )))
    };
    match look() {
        Ok(None) => Ok(()),
        Ok(Some(message)) => Err(failed(file, &message)),
        Err(error) => Err(failed(file, &words(&error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::connection::testing::scratch;

    #[test]
    fn a_migration_that_does_not_end_is_stopped_where_a_project_is_tried() {
        let (_folder, config, _) = scratch();
        let connection = open(&config).expect("opened");
        let file = File {
            id: 1,
            name: "0001_endless".to_owned(),
            text: "CREATE TABLE a (b);\nINSERT INTO a\n\
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)\n\
                SELECT i FROM n WHERE i < 0"
                .to_owned(),
            checksum: String::new(),
            path: "migrations/0001_endless.sql".into(),
        };
        let run = || statements(connection.sqlite(), &file);
        let ended = connection.guard().for_time(Duration::from_millis(20), run);
        let fault = ended.expect_err("stopped");
        let told = "migrations/0001_endless.sql:2:1: stopped: where a project is only tried, a migration has 120 s; \
            does it end?; nothing of it was applied";
        assert_eq!(fault.message(), told);
    }
}
