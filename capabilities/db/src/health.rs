//! The checks of a database: whether it can be read and written, and has the migrations that the project needs.

use crate::backend::AppDatabase;
use crate::config::DatabaseConfig;
use crate::database::{Database, Opened};
use crate::group_commit::repair;
use crate::group_commit::writer::Refused;
use crate::migrate::{Migrations, NeededMigrations};
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::open::Role;
use sampan_host::health::HealthCheck;
use sampan_host::{Error, LocalFuture};
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Returns the checks of the database of a server. The migrations are those that the files name now: files that are
/// added later count from the next reload on.
///
/// # Errors
/// The migrations cannot be read.
pub fn health_checks(
    database: &AppDatabase,
    migrations: &Migrations,
) -> Result<Vec<Arc<dyn HealthCheck>>, Error> {
    let config = database.config().clone();
    let needed = MigrationsCheck {
        needed: NeededMigrations::of(migrations, &config)?,
        config,
    };
    let database = DatabaseCheck(database.clone());
    Ok(vec![Arc::new(database), Arc::new(needed)])
}

/// Reads something, and asks how the last writes went.
struct DatabaseCheck(AppDatabase);

impl DatabaseCheck {
    fn look(&self) -> Result<(), String> {
        match &self.0 {
            AppDatabase::Sqlite(database) => Self::look_at_file(database),
            AppDatabase::Postgres(database) => {
                let asked = database.prepare();
                asked.map_err(|error| error.message().to_owned())
            }
        }
    }

    fn look_at_file(database: &Database) -> Result<(), String> {
        let Some(opened) = database.opened() else {
            // A project that never used its database has no file.
            return Ok(());
        };
        // A server without requests notices here that its log was removed.
        opened.file_is_there(None);
        match opened.writers.refused() {
            Some(Refused::Broken(cause)) => return Err(format!("it cannot be written: {cause}")),
            Some(Refused::Gone) => {
                return Err(
                    "its file or its log was removed or replaced: restart the server".to_owned(),
                );
            }
            Some(Refused::Closed | Refused::Late | Refused::Transaction) | None => {}
        }
        if opened.is_disk_full.load(Relaxed) {
            Self::write_again(database, opened)?;
        }
        let told = |fault: String| format!("it cannot be read: {fault}");
        let connection = SqliteConnection::open(&database.config, Role::Reader)
            .map_err(|fault| told(fault.error.message().to_owned()))?;
        let sqlite = connection.sqlite();
        let count = sqlite.query_row("SELECT count(*) FROM sqlite_schema", (), |row| {
            row.get::<_, i64>(0)
        });
        count.map(drop).map_err(|error| told(error.to_string()))
    }

    /// Writes a page after the disk was full. Otherwise a server that gets no requests until this check succeeds would
    /// never get any again.
    fn write_again(database: &Database, opened: &Opened) -> Result<(), String> {
        const FULL: &str = "its last write failed because the disk is full";
        let writer = opened.writers.try_take().ok_or(FULL)?;
        match repair::rewrite(&writer) {
            Ok(()) => {
                database.committed(opened, writer);
                Ok(())
            }
            Err(fault) => {
                opened.take_back(writer, &fault);
                Err(FULL.to_owned())
            }
        }
    }
}

impl HealthCheck for DatabaseCheck {
    fn name(&self) -> &'static str {
        "database"
    }

    fn check(&self) -> LocalFuture<Result<(), String>> {
        Box::pin(ready(self.look()))
    }
}

/// Looks for migrations that the project has and the database has not.
struct MigrationsCheck {
    config: DatabaseConfig,
    needed: NeededMigrations,
}

impl MigrationsCheck {
    fn look(&self) -> Result<(), String> {
        if !self.config.file.may_open(&self.config.path) {
            // The check of the database tells it. No migration helps.
            return Ok(());
        }
        let missing = self.needed.missing(&self.config);
        let missing = missing.map_err(|error| error.message().to_owned())?;
        match missing.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "not applied: {}; run `sampan migrate`",
                missing.join(", ")
            )),
        }
    }
}

impl HealthCheck for MigrationsCheck {
    fn name(&self) -> &'static str {
        "migrations"
    }

    fn check(&self) -> LocalFuture<Result<(), String>> {
        Box::pin(ready(self.look()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::error::{ErrorCode, StatementError};
    use crate::test_folder::TestFolder;
    use sampan_host::ErrorKind;

    #[test]
    fn a_full_disk_is_told_until_something_is_written() {
        let folder = TestFolder::new();
        let config = DatabaseConfig::new(folder.path("data.db"));
        let database = Database::new(config, Arc::new(|_, line: &str| panic!("{line}")));
        database.prepare().expect("opened");
        let opened = database.opened().expect("open");
        let look = || DatabaseCheck::look_at_file(&database);
        assert_eq!(look(), Ok(()));
        let fault = StatementError::new(ErrorKind::Unavailable, ErrorCode::Full, "full");
        let fill = || opened.take_back(opened.writers.try_take().expect("free"), &fault);
        fill();
        let writer = opened.writers.try_take().expect("free");
        let told = look().expect_err("nothing is written yet");
        assert!(told.contains("the disk is full"), "{told}");
        repair::rewrite(&writer).expect("written");
        database.committed(opened, writer);
        assert_eq!(look(), Ok(()));
        // The check itself finds out that the disk has room again.
        fill();
        assert_eq!(look(), Ok(()));
        assert!(!opened.is_disk_full.load(Relaxed) && opened.writers.is_free());
    }
}
