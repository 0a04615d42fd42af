//! The project's database at start: migrations, and opening it where it is known to be needed.

pub(crate) mod backup;

use crate::app_config::AppConfig;
use crate::capabilities;
use crate::migrations::{migrations_in, migrations_of, packed_migrations};
use crate::worker::start::run_here;
use sampan_db::migrate::{self, MigrationProgress, MigrationState, MigrationStatus, Migrations};
use sampan_db::{AppDatabase, DatabaseConfig};
use sampan_host::database::AppTables;
use sampan_host::log::{Cause, Entry as Line, Level};
use sampan_host::settings::Settings;
use sampan_host::{Error, ErrorKind, LocalFuture, Outbox, Verdict};
use sampan_log::Logger;
use sampan_project::config::{Environment, Flags, read_all};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::spawn_local;

/// A project as far as its database goes: what is needed to migrate it or to back it up.
#[derive(Clone, Debug)]
pub struct Storage {
    /// The database.
    pub db: DatabaseConfig,
    /// The migrations, of which there need be none.
    pub migrations: Migrations,
    /// `[backup]`.
    pub(crate) backup: Settings,
    /// `[fetch]`, for a copy that is reached by HTTP.
    pub(crate) fetch: Settings,
    /// The project's folder.
    pub(crate) root: PathBuf,
}

impl Storage {
    /// Finds the database of the project that `flags.path` names: its folder, or a file in it.
    ///
    /// # Errors
    /// One line that says what is wrong and what to do.
    pub fn resolve(flags: &Flags) -> Result<Self, String> {
        let path = &flags.path;
        let current = Path::new("");
        // The project of a link to a file is where the file is.
        let is_linked = path.is_symlink() && path.is_file();
        let linked = is_linked.then(|| path.canonicalize().ok()).flatten();
        let path = linked.as_deref().unwrap_or(path);
        let root = if flags.archive.is_some() {
            current
        } else if path.is_dir() {
            path
        } else if path.is_file() {
            path.parent().unwrap_or(Path::new(""))
        } else {
            return Err(format!(
                "{} does not exist: name the project's folder or the file to run",
                path.display()
            ));
        };
        let environment = Environment::of_process().with(&flags.env_file.read(root)?);
        let all = read_all(root, flags, &environment, capabilities::sections())?;
        Ok(Self {
            db: DatabaseConfig::from_settings(&all.of(&sampan_db::SECTION), root),
            backup: all.of(&sampan_backup::SECTION),
            fetch: all.of(&sampan_serve::fetch::SECTION),
            root: root.to_owned(),
            migrations: match &flags.archive {
                Some(archive) => packed_migrations(archive),
                None => migrations_in(root)?,
            },
        })
    }
}

/// The time after which a start that waits for a database server tells why, in milliseconds.
const TELL_AFTER_MILLIS: u64 = 500;

/// The longest time that a read for people may take, in milliseconds.
const PEOPLE_MILLIS_MAX: u64 = 5 * 60 * 1_000;

/// Does something with the tables of capabilities in a database, without a server.
///
/// # Errors
/// There is no database, the system gives nothing to wait with, or the error of `work`.
pub fn with_tables<T>(
    config: &DatabaseConfig,
    work: impl FnOnce(Rc<dyn AppTables>) -> LocalFuture<Result<T, Error>>,
) -> Result<T, String> {
    if !config.may_exist() {
        return Err(format!(
            "there is no database {}: name it with --db, or the project with --project",
            config.shown()
        ));
    }
    let config = DatabaseConfig {
        query_inline_millis_max: PEOPLE_MILLIS_MAX,
        write_millis_max: PEOPLE_MILLIS_MAX,
        leaves_log: true,
        ..config.clone()
    };
    let database = AppDatabase::new(config, Arc::new(|_, _: &str| ()));
    let database = database.map_err(|error| error.to_string())?;
    let mut result = Err(Error::new(ErrorKind::Internal, "nothing was done"));
    let ran = run_here(async {
        let outbox = Outbox::default();
        let db = database.worker(outbox.clone(), Arc::default());
        for task in db.tasks() {
            drop(spawn_local(task));
        }
        let tables = db.tables();
        result = work(Rc::clone(&tables)).await;
        let has_written = outbox.is_open();
        if outbox.settled().await == Verdict::Failed {
            let text = "the change could not be committed";
            result = Err(Error::new(ErrorKind::Internal, text));
        } else if has_written {
            tables.ring();
        }
    });
    ran.map_err(|error| format!("cannot start a runtime: {error}"))?;
    database.shutdown();
    result.map_err(|error| error.to_string())
}

/// The database of a server that starts, and the names of the migrations that were applied just now. It is opened now
/// if it exists, is on a server or has migrations, so that faults are told at once; otherwise when a script first uses
/// it, so that a project without a database gets no file.
///
/// # Errors
/// A migration fails, or the file is no database that can be opened: one line that says what to do.
pub(crate) fn prepare(config: &AppConfig) -> Result<(AppDatabase, Vec<String>), String> {
    if !config.database.config.is_postgres()
        && let Some(folder) = config.database.config.path.parent()
        && !folder.as_os_str().is_empty()
        && !folder.is_dir()
    {
        return Err(format!(
            "the database {}: there is no folder {}: create it",
            config.database.config.path.display(),
            folder.display()
        ));
    }
    tell_wait(config);
    let applied = migrate(config)?;
    let logger = config.program.logger.clone();
    let database = AppDatabase::new(
        config.database.config.clone(),
        Arc::new(move |level: Level, line: &str| {
            let text = format!("database: {line}");
            let cause = Cause::message(&text);
            logger.write_limited(level, cause, &Line::text(text));
        }),
    );
    let database = database.map_err(|error| error.to_string())?;
    if config.database.config.may_exist() || !migrations_of(&config.base.project)?.is_empty() {
        database.prepare().map_err(|error| error.to_string())?;
    }
    Ok((database, applied))
}

/// Logs what is wrong with a database server that does not answer: the start waits for it.
fn tell_wait(config: &AppConfig) {
    let database = &config.database.config;
    let millis = database.busy_millis_max.min(TELL_AFTER_MILLIS);
    if !database.is_postgres() || millis == 0 {
        return;
    }
    let impatient = DatabaseConfig {
        busy_millis_max: millis,
        ..database.clone()
    };
    let begun = Instant::now();
    let asked = AppDatabase::new(impatient, Arc::new(|_, _: &str| ()));
    let asked = asked.and_then(|database| database.prepare());
    // A fault that does not pass is told at once, and ends the start.
    let is_waited_for = begun.elapsed() >= Duration::from_millis(millis);
    if let Err(error) = asked
        && is_waited_for
    {
        let text = format!("waiting for PostgreSQL: {error}");
        config.program.logger.text(Level::Warn, text);
    }
}

/// Applies the migrations of the project that are not applied, if they are to run. The names of those that were.
///
/// # Errors
/// One fails, or they do not fit the database: one line that says what to do.
pub(crate) fn migrate(config: &AppConfig) -> Result<Vec<String>, String> {
    let mut applied = Vec::new();
    let migrations = migrations_of(&config.base.project)?;
    let has_migrations = !migrations.is_empty();
    let exists = config.database.config.may_exist();
    // Where there is no folder the database may still know migrations, and then files are missing.
    if config.database.migrate && (has_migrations || exists) {
        let is_shared = config.database.config.is_postgres();
        let mut tell = |progress: MigrationProgress<'_>| {
            let line = match progress {
                MigrationProgress::Begins(name) if is_shared => {
                    format!("applying migration {name}, unless another process does")
                }
                MigrationProgress::Begins(name) => format!("applying migration {name}"),
                MigrationProgress::Waits(name) => {
                    format!("migration {name} waits: another process applies migrations")
                }
                MigrationProgress::Applied(name) => {
                    applied.push(name.to_owned());
                    format!("migration {name} applied")
                }
            };
            config.program.logger.text(Level::Info, line);
        };
        let hints = migrate::hints(&config.database.config, &migrations);
        for hint in hints.unwrap_or_default() {
            config.program.logger.text(Level::Warn, hint.to_string());
        }
        migrate::run(&config.database.config, &migrations, &mut tell)
            .map_err(|error| error.to_string())?;
    } else if has_migrations
        && let Ok(entries) = migrate::status(&config.database.config, &migrations)
    {
        warn_of(&entries, &config.program.logger);
    }
    Ok(applied)
}

/// Returns the reason why a project did not load, with what its migrations have done before.
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
