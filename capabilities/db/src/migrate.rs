//! Migrations: the files that bring a database to the schema which the code expects.
//!
//! Each file runs once, in the order of the numbers, in a transaction of its own: all of it is applied, or nothing.
//! Applied ones are remembered in the table `_sampan_migrations` with a checksum, so that a file which was changed
//! afterwards is noticed. Migrations run before any script, on connections of their own without authorizer and limits.

mod carried;
mod files;
mod hints;
mod needed;
mod own_names;
mod postgres;
mod split;

use crate::config::DatabaseConfig;
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::error::{ErrorCode, words};
use crate::sqlite::memory;
use crate::sqlite::open::Role;
use crate::sqlite::open::explain;
use files::{File, SqlDialect, fault};
use postgres::PostgresMigrations;
use rusqlite::OpenFlags;
use sampan_host::Error;
use sampan_host::statement_text::position;
use split::Statements;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) use carried::CarriedMigrations;
pub use files::Migrations;
pub use hints::{MigrationHint, hints};
pub(crate) use needed::NeededMigrations;
pub use split::try_statements;

/// The pause between two attempts to open a database that another process is just creating.
const PAUSE: Duration = Duration::from_millis(10);

const CREATE: &str = "CREATE TABLE IF NOT EXISTS _sampan_migrations(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT";

/// The progress of [`run`]: the name of a migration, as in `0001_visits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigrationProgress<'a> {
    /// The migration is about to be applied, which may take long.
    Begins(&'a str),
    /// Another process applies migrations, perhaps this one: the migration has to wait for it.
    Waits(&'a str),
    /// The migration stays applied, even if a later one fails.
    Applied(&'a str),
}

/// The result of [`run`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MigrationReport {
    /// The migrations that were applied now, as in `0001_visits`.
    pub applied: Vec<String>,
    /// The number of migrations applied before.
    pub known: usize,
}

/// A migration, in the folder or in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationStatus {
    /// The number.
    pub id: i64,
    /// The file's name without the ending, as in `0001_visits`.
    pub name: String,
    /// The relation of file and database.
    pub state: MigrationState,
}

/// The way a migration's file and the database compare. Times are UTC, as in `2026-01-31T12:00:00Z`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MigrationState {
    /// Applied at that time, unchanged since.
    Applied(String),
    /// To be applied by the next [`run`].
    Pending,
    /// Applied at that time; the file was changed since.
    Changed(String),
    /// Applied at that time; the file is missing.
    Missing(String),
    /// Not applied, although a later one was.
    Late,
}

/// A row of `_sampan_migrations`.
pub(crate) struct Applied {
    id: i64,
    name: String,
    checksum: String,
    at: String,
}

/// Applies all migrations that have not been applied. Where two processes do so at once, the second waits for the
/// first: at most `busy_millis_max` for each file of SQLite, and at most an hour on a server.
///
/// # Errors
/// Files and database do not fit together, or a migration fails. Of the one that failed nothing is applied; those
/// before it are.
pub fn run(
    config: &DatabaseConfig,
    migrations: &Migrations,
    tell: &mut dyn FnMut(MigrationProgress<'_>),
) -> Result<MigrationReport, Error> {
    let files = files::read(migrations, dialect_of(config))?;
    let server = config
        .is_postgres()
        .then(|| PostgresMigrations::new(config));
    let server = server.transpose()?;
    let known = match &server {
        Some(server) => server.applied()?,
        None => applied(config)?,
    };
    let entries = compare(&files, known);
    if let Some(entry) = entries.iter().find(|entry| entry.is_fault()) {
        return Err(refusal(entry, &entries, migrations.folder()));
    }
    let is_pending = |file: &&File| {
        let state = entries.iter().find(|entry| entry.id == file.id);
        state.is_some_and(|entry| entry.state == MigrationState::Pending)
    };
    let pending: Vec<&File> = files.iter().filter(is_pending).collect();
    let mut report = MigrationReport {
        known: files.len() - pending.len(),
        ..MigrationReport::default()
    };
    for file in pending {
        let is_new = match &server {
            Some(server) => {
                tell(MigrationProgress::Begins(&file.name));
                server.apply(file, &mut || tell(MigrationProgress::Waits(&file.name)))?
            }
            None => {
                let mut begins = || tell(MigrationProgress::Begins(&file.name));
                // A connection of its own, so that no PRAGMA of one migration holds in the next.
                apply(&open(config)?, config, file, &mut begins)?
            }
        };
        if is_new {
            tell(MigrationProgress::Applied(&file.name));
            report.applied.push(file.name.clone());
        } else {
            report.known += 1;
        }
    }
    Ok(report)
}

/// All migrations that the folder or the database knows, in order. Writes nothing, and creates no database.
///
/// # Errors
/// The folder or the database cannot be read.
pub fn status(
    config: &DatabaseConfig,
    migrations: &Migrations,
) -> Result<Vec<MigrationStatus>, Error> {
    let files = files::read(migrations, dialect_of(config))?;
    Ok(compare(&files, known(config)?))
}

/// Returns the migrations that the database has applied.
fn known(config: &DatabaseConfig) -> Result<Vec<Applied>, Error> {
    match config.is_postgres() {
        true => PostgresMigrations::new(config)?.applied(),
        false => applied(config),
    }
}

fn dialect_of(config: &DatabaseConfig) -> SqlDialect {
    match config.is_postgres() {
        true => SqlDialect::Postgres,
        false => SqlDialect::Sqlite,
    }
}

/// Looks at the names and texts of all migrations, and runs none. How many there are.
///
/// # Errors
/// The folder cannot be read, a file in it cannot be one of its migrations, or no database has all of them.
pub fn check(migrations: &Migrations) -> Result<usize, Error> {
    let for_sqlite = files::read(migrations, SqlDialect::Sqlite);
    for_sqlite
        .or_else(|fault| files::read(migrations, SqlDialect::Postgres).map_err(|_| fault))
        .map(|files| files.len())
}

/// Makes an empty migration with the next number, and the folder if there is none. Returns the file.
///
/// # Errors
/// A name that cannot be one, a folder that is not in order or cannot be written.
pub fn create(dir: &Path, name: &str) -> Result<PathBuf, Error> {
    files::create(dir, name)
}

impl MigrationStatus {
    /// Reports whether it keeps [`run`] from applying anything.
    pub fn is_fault(&self) -> bool {
        !matches!(
            self.state,
            MigrationState::Applied(_) | MigrationState::Pending
        )
    }
}

/// Returns the migrations that the database has applied; none if there is no database.
fn applied(config: &DatabaseConfig) -> Result<Vec<Applied>, Error> {
    let path = &config.path;
    if !path.exists() {
        return Ok(Vec::new());
    }
    let read = || -> rusqlite::Result<Vec<Applied>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let sqlite = memory::connect(path, flags)?;
        sqlite.busy_timeout(Duration::from_millis(config.busy_millis_max))?;
        applied_in(&sqlite)
    };
    read().map_err(|error| explain(&error, path).error)
}

/// Returns the migrations that an open database has applied.
pub(crate) fn applied_in(sqlite: &rusqlite::Connection) -> rusqlite::Result<Vec<Applied>> {
    if !sqlite.table_exists(Some("main"), "_sampan_migrations")? {
        return Ok(Vec::new());
    }
    let sql = "SELECT id, name, checksum, applied_at FROM _sampan_migrations ORDER BY id";
    let mut statement = sqlite.prepare(sql)?;
    let rows = statement.query_map((), |row| {
        Ok(Applied {
            id: row.get(0)?,
            name: row.get(1)?,
            checksum: row.get(2)?,
            at: row.get(3)?,
        })
    })?;
    rows.collect()
}

fn compare(files: &[File], applied: Vec<Applied>) -> Vec<MigrationStatus> {
    let last = applied.last().map_or(0, |row| row.id);
    let mut entries = Vec::with_capacity(files.len());
    for file in files {
        let state = match applied.iter().find(|row| row.id == file.id) {
            Some(row) if row.checksum == file.checksum => MigrationState::Applied(row.at.clone()),
            Some(row) => MigrationState::Changed(row.at.clone()),
            None if file.id < last => MigrationState::Late,
            None => MigrationState::Pending,
        };
        entries.push(MigrationStatus {
            id: file.id,
            name: file.name.clone(),
            state,
        });
    }
    for row in applied {
        if !files.iter().any(|file| file.id == row.id) {
            entries.push(MigrationStatus {
                id: row.id,
                name: row.name,
                state: MigrationState::Missing(row.at),
            });
        }
    }
    entries.sort_by_key(|entry| entry.id);
    entries
}

/// Returns the reason why nothing is applied while there is this entry.
fn refusal(entry: &MigrationStatus, entries: &[MigrationStatus], dir: &Path) -> Error {
    let file = dir.join(format!("{}.sql", entry.name));
    let file = file.display();
    let in_folder = entries
        .iter()
        .filter(|other| !matches!(other.state, MigrationState::Missing(_)))
        .map(|other| other.id)
        .max();
    fault(match &entry.state {
        MigrationState::Changed(at) => format!(
            "{file} was changed after it was applied ({at}): bring back the file as it was, and put the change into a \
             new migration"
        ),
        MigrationState::Missing(at) if in_folder.is_none_or(|last| entry.id > last) => format!(
            "the database is newer than {}: {} was applied to it ({at}) and is not there; run the code that belongs \
             to the database, or this code with --no-migrate if it can live with the newer tables",
            dir.display(),
            entry.name
        ),
        MigrationState::Missing(at) => {
            format!("{file} is missing: it was applied ({at}); bring the file back")
        }
        _ => format!(
            "{file} was not applied, but later ones were: give it the next number, so that it is applied after them"
        ),
    })
}

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

/// Applies one file. `false` if another process has done so meanwhile; otherwise `begins` is called before the first
/// statement.
fn apply(
    connection: &SqliteConnection,
    config: &DatabaseConfig,
    file: &File,
    begins: &mut dyn FnMut(),
) -> Result<bool, Error> {
    let sqlite = connection.sqlite();
    let begun = sqlite
        .busy_timeout(Duration::from_millis(config.busy_millis_max))
        // Within a transaction this would do nothing. A table that is rebuilt is dropped once, which must not delete
        // what refers to it.
        .and_then(|()| sqlite.execute_batch("PRAGMA foreign_keys=OFF; BEGIN IMMEDIATE"));
    let ended = begun
        .map_err(|error| failed(file, &words(&error)))
        .and_then(|()| within(sqlite, file, begins))
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
    let placed = |fault: split::SplitError| failed_at(file, &fault);
    let mut statements = Statements::new(sqlite, &file.text);
    let mut count = 0;
    while let Some((start, mut statement)) = statements.next().map_err(placed)? {
        if let Some(refusal) = own_names::refusal(&file.text[start..]) {
            return Err(placed(split::SplitError::at(start, refusal)));
        }
        let mut rows = statement.raw_query();
        loop {
            match rows.next() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => return Err(placed(split::SplitError::of(&error, start))),
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

/// An error that concerns the file as a whole.
fn failed(file: &File, message: &str) -> Error {
    fault(format!(
        "{}: {message}; nothing of it was applied",
        file.path.display()
    ))
}

/// An error at a place in the file.
fn failed_at(file: &File, fault: &split::SplitError) -> Error {
    let (start_line, _) = position(&file.text, fault.start);
    let (line, column) = position(&file.text, fault.place.unwrap_or(fault.start));
    let statement = if line == start_line {
        String::new()
    } else {
        format!(" (in the statement that begins in line {start_line})")
    };
    files::fault(format!(
        "{}:{line}:{column}: {}{statement}; nothing of it was applied",
        file.path.display(),
        fault.message
    ))
}

#[cfg(test)]
mod tests;
