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
/// environment is missing here, its database lies on a server, or the fault is that of no script. `db` is the database
/// that the project will have.
///
/// # Errors
/// A migration that cannot be applied, or the fault of a script.
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
    let is_on_server = config.database.config.is_postgres();
    config.database.migrate = match migrate_empty(&config, scratch) {
        Ok(is_migrated) => is_migrated,
        Err(fault) => return Err(format!("{fault}{NOT_SQLITE}")),
    };
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
    match is_of_script(&fault, project.entry()) {
        // It may have wanted its tables.
        true if is_on_server => {
            let here = "with a file of SQLite in place of its server";
            Ok(Some(not_loaded(&fault, here)))
        }
        true => Err(format!("{fault}{NOT_HERE}")),
        // A setting may have another value elsewhere.
        false => Ok(Some(not_loaded(&fault, "here"))),
    }
}

/// The advice where a migration cannot be applied.
const NOT_SQLITE: &str = "\n  It was tried on an empty file of SQLite. If the project will have a PostgreSQL server, \
     add --db postgres://HOST/NAME. To pack it without a trial, add --no-load.";

/// The advice where a program does not load.
const NOT_HERE: &str = "\n  The program was loaded with an empty database and an empty storage folder. If it needs \
     what only its machine has, add --no-load.";

/// Reports whether a fault is at a place of a script, or one of loading the script `entry` that has no line.
fn is_of_script(fault: &str, entry: &str) -> bool {
    let rest = fault.strip_prefix(entry);
    let is_of_entry = rest.is_some_and(|rest| rest.starts_with(':'));
    let file = Finding::error(fault).file;
    is_of_entry || file.is_some_and(|file| !file.ends_with(".toml"))
}

fn not_loaded(fault: &str, here: &str) -> String {
    format!("the project was not loaded {here}, so its scripts were not checked: {fault}")
}

/// Applies the migrations to an empty file of SQLite, also where a server would not. False if they are for PostgreSQL
/// alone.
fn migrate_empty(config: &AppConfig, scratch: &Path) -> Result<bool, String> {
    let migrations = migrations_of(&config.base.project)?;
    if config.database.config.is_postgres() || !migrations.exist() {
        return Ok(config.database.migrate);
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
