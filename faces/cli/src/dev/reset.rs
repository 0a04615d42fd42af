//! An empty database in place of one that migrations were applied to which are others now. Nothing is deleted.

use sampan_db::migrate::{self, MigrationStatus};
use sampan_host::log::Level;
use sampan_log::Logger;
use sampan_runtime::{AppConfig, migrations_in, server_pids};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The endings of the files that SQLite keeps for a database.
const ENDINGS: [&str; 3] = ["", "-wal", "-shm"];

/// Reports whether migrations were changed or removed after they were applied.
pub(super) fn is_needed(config: &AppConfig) -> bool {
    let Ok(migrations) = migrations_in(config.base.project.root()) else {
        return false;
    };
    let status = migrate::status(&config.database.config, &migrations);
    let config = &config.database.config;
    !config.is_postgres()
        && config.path.exists()
        && status.is_ok_and(|entries| entries.iter().any(MigrationStatus::is_fault))
}

/// Moves the database away, if that is needed.
///
/// # Errors
/// A server uses it, or it cannot be moved.
pub(super) fn reset(config: &AppConfig, logger: &Logger) -> Result<(), String> {
    if config.database.config.is_postgres() {
        return Err("--reset-db is for a file of SQLite: drop the database on the server, and create it anew".into());
    }
    let path = &config.database.config.path;
    if !is_needed(config) {
        let text = format!(
            "{}: nothing to reset, the migrations fit it",
            path.display()
        );
        logger.text(Level::Info, text);
        return Ok(());
    }
    if !server_pids(config.base.project.root())?.is_empty() {
        return Err(format!(
            "a server of this project uses {}: stop it first",
            path.display()
        ));
    }
    move_away(path, logger)
}

/// Moves away what stands beside a database whose file is gone: it belongs to none that comes after it.
pub(super) fn leave_rest(path: &Path, logger: &Logger) -> Result<(), String> {
    let rest = ENDINGS[1..].iter();
    match path.exists()
        || !rest
            .into_iter()
            .any(|ending| with_ending(path, ending).exists())
    {
        true => Ok(()),
        false => move_away(path, logger),
    }
}

fn move_away(path: &Path, logger: &Logger) -> Result<(), String> {
    let to = free_name(path);
    for ending in ENDINGS {
        let (from, to) = (with_ending(path, ending), with_ending(&to, ending));
        if from.exists() {
            std::fs::rename(&from, &to)
                .map_err(|error| format!("cannot move {} away: {error}", from.display()))?;
        }
    }
    let text = format!("{} is now {}", path.display(), to.display());
    logger.text(Level::Warn, text);
    Ok(())
}

/// A name beside the database that nothing has.
fn free_name(path: &Path) -> PathBuf {
    let names = (1_u64..).map(|number| with_ending(path, &format!(".before-reset-{number}")));
    let mut free = names.filter(|name| {
        !ENDINGS
            .iter()
            .any(|ending| with_ending(name, ending).exists())
    });
    free.next().unwrap_or_else(|| path.to_owned())
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}
