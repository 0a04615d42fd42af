//! Migrations: the files that bring a database to the schema which the code expects.
//!
//! Each file runs once, in the order of the numbers, in a transaction of its own: all of it is applied, or nothing.
//! Applied ones are remembered in the table `_sampan_migrations` with a checksum, so that a file which was changed
//! afterwards is noticed. Migrations run before any script, on connections of their own without authorizer and limits.

mod carried;
mod faults;
mod files;
mod hints;
mod needed;
mod own_names;
mod postgres;
mod split;
mod sqlite;

use crate::config::DatabaseConfig;
use crate::sqlite::memory;
use crate::sqlite::open::explain;
use files::{File, SqlDialect, fault};
use postgres::PostgresMigrations;
use rusqlite::OpenFlags;
use sampan_host::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use carried::CarriedMigrations;
pub use files::Migrations;
pub use hints::{MigrationHint, hints};
pub(crate) use needed::NeededMigrations;
pub use split::try_statements;

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
                sqlite::apply(config, file, &mut begins)?
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

#[cfg(test)]
mod tests;
