//! The checks of a database: whether it can be read and written, and has the migrations that the project needs.

use crate::backend::AppDatabase;
use crate::config::DatabaseConfig;
use crate::database::Database;
use crate::group_commit::writer::Refused;
use crate::migrate::{Migrations, NeededMigrations};
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::open::Role;
use sampan_host::health::HealthCheck;
use sampan_host::{Error, LocalFuture};
use std::future::ready;
use std::sync::Arc;

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
        match opened.writers.refused() {
            Some(Refused::Broken(cause)) => return Err(format!("it cannot be written: {cause}")),
            Some(Refused::Gone) => {
                return Err("its file was removed or replaced: restart the server".to_owned());
            }
            Some(Refused::Closed | Refused::Late | Refused::Transaction) | None => {}
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
