//! A project loaded before it is packed, to see that it starts: `sampan build`.

use super::look::look;
use crate::app_config::AppConfig;
use crate::migrations::migrations_of;
use sampan_db::{DatabaseConfig, Durability, migrate};
use sampan_env::MissedVariables;
use sampan_host::log::Level;
use sampan_log::Logger;
use sampan_project::Project;
use sampan_project::config::{EnvFile, Flags};
use sampan_project::inspect::Finding;
use std::path::{Path, PathBuf};

/// Applies the migrations to an empty database in the folder `scratch` and loads the scripts; `on_start` does not run.
/// Returns a warning where the project does not load, but may on the machine that serves it: a variable of the
/// environment is missing here, or the fault is at no place of the project's files. `db` is the database that the
/// project will have.
///
/// # Errors
/// A migration that cannot be applied, or the fault of a script, with its place.
pub(crate) fn try_out(
    project: &Project,
    db: Option<PathBuf>,
    scratch: &Path,
) -> Result<Option<String>, String> {
    let flags = Flags {
        db,
        env_file: EnvFile::OfProject,
        ..Flags::default()
    };
    let mut config = match AppConfig::of_project(project.clone(), &flags) {
        Ok(config) => config,
        Err(fault) => return Ok(Some(not_loaded(&fault, "by the settings of this machine"))),
    };
    config.program.logger = Logger::captured(Level::Warn);
    config.database.migrate &= migrate_empty(&config, scratch)?;
    let missed = MissedVariables::default();
    config.program.trial = Some(missed.clone());
    let Err(fault) = look(config, scratch, |_| ()) else {
        return Ok(None);
    };
    let missed = missed.names();
    if !missed.is_empty() {
        let here = format!("without the variables {}", missed.join(", "));
        return Ok(Some(not_loaded(&fault, &here)));
    }
    match Finding::error(&fault).file {
        // A setting may have another value elsewhere.
        Some(file) if !file.ends_with(".toml") => Err(fault),
        _ => Ok(Some(not_loaded(&fault, "here"))),
    }
}

fn not_loaded(fault: &str, here: &str) -> String {
    format!("the project was not loaded {here}, so its scripts were not checked: {fault}")
}

/// Applies the migrations to an empty file of SQLite. False if they are for PostgreSQL alone.
fn migrate_empty(config: &AppConfig, scratch: &Path) -> Result<bool, String> {
    let migrations = migrations_of(&config.base.project)?;
    let is_on_server = config.database.config.is_postgres();
    if is_on_server || !config.database.migrate || !migrations.exist() {
        return Ok(true);
    }
    let empty = DatabaseConfig {
        path: scratch.join("empty.db"),
        durability: Durability::Throwaway,
        file: Default::default(),
        ..config.database.config.clone()
    };
    if migrate::status(&empty, &migrations).is_err() {
        return Ok(false);
    }
    let report = migrate::run(&empty, &migrations, &mut |_| ());
    report.map(|_| true).map_err(|error| error.to_string())
}
