//! The project's database at start: migrations, and opening it where it is known to be needed.

use crate::config::Config;
use sampan_db::Database;
use sampan_db::migrate::{self, MigrationProgress, MigrationState, MigrationStatus};
use sampan_host::log::{Cause, Entry as Line, Level};
use sampan_log::Logger;
use std::sync::Arc;

/// The database of a server that starts, and the names of the migrations that were applied just now. It is opened now
/// if it exists or has migrations, so that faults are told at once; otherwise when a script first uses it, so that a
/// project without a database gets no file.
///
/// # Errors
/// A migration fails, or the file is no database that can be opened: one line that says what to do.
pub(crate) fn prepare(config: &Config) -> Result<(Arc<Database>, Vec<String>), String> {
    if let Some(folder) = config.db.path.parent()
        && !folder.as_os_str().is_empty()
        && !folder.is_dir()
    {
        return Err(format!(
            "the database {}: there is no folder {}: create it",
            config.db.path.display(),
            folder.display()
        ));
    }
    let applied = migrate(config)?;
    let logger = config.logger.clone();
    let database = Database::new(
        config.db.clone(),
        Arc::new(move |line: &str| {
            let text = format!("database: {line}");
            let cause = Cause::message(&text);
            logger.write_limited(Level::Error, cause, &Line::text(text));
        }),
    );
    if config.db.path.exists() || !config.project.migrations()?.is_empty() {
        database.prepare().map_err(|error| error.to_string())?;
    }
    Ok((Arc::new(database), applied))
}

/// Applies the migrations of the project that are not applied, if they are to run. The names of those that were.
///
/// # Errors
/// One fails, or they do not fit the database: one line that says what to do.
pub(crate) fn migrate(config: &Config) -> Result<Vec<String>, String> {
    let mut applied = Vec::new();
    let migrations = config.project.migrations()?;
    let has_migrations = !migrations.is_empty();
    let exists = config.db.path.exists();
    // Where there is no folder the database may still know migrations, and then files are missing.
    if config.migrate && (has_migrations || exists) {
        let mut tell = |progress: MigrationProgress<'_>| {
            let line = match progress {
                MigrationProgress::Begins(name) => format!("applying migration {name}"),
                MigrationProgress::Applied(name) => {
                    applied.push(name.to_owned());
                    format!("migration {name} applied")
                }
            };
            config.logger.text(Level::Info, line);
        };
        migrate::run(&config.db, &migrations, &mut tell).map_err(|error| error.to_string())?;
    } else if has_migrations && let Ok(entries) = migrate::status(&config.db, &migrations) {
        warn_of(&entries, &config.logger);
    }
    Ok(applied)
}

/// Why a project did not load, with what its migrations have done before.
pub(crate) fn with_applied(fault: String, applied: &[String]) -> String {
    if applied.is_empty() {
        return fault;
    }
    let names = applied.join(", ");
    let advice = "an older project needs --no-migrate to start on this database now";
    format!("{fault}\n(applied before: {names}; {advice})")
}

/// Migrations are not to be run: those that the code may miss are told.
fn warn_of(entries: &[MigrationStatus], logger: &Logger) {
    let named = |is_meant: &dyn Fn(&MigrationStatus) -> bool| {
        let names = entries.iter().filter(|entry| is_meant(entry));
        names.map(|entry| entry.name.as_str()).collect::<Vec<_>>()
    };
    let pending = named(&|entry| entry.state == MigrationState::Pending);
    if !pending.is_empty() {
        let text = format!("migrations that are not applied: {}", pending.join(", "));
        logger.text(Level::Warn, text);
    }
    let faults = named(&MigrationStatus::is_fault);
    if !faults.is_empty() {
        let text = format!(
            "migrations that do not fit the database: {} (see sampan migrate status)",
            faults.join(", ")
        );
        logger.text(Level::Warn, text);
    }
}
