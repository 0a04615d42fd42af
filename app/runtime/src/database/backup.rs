//! The copy of the database elsewhere: started with the server, restored before it or by a command.

use crate::app_config::AppConfig;
use crate::database::Storage;
use sampan_backup::{
    Backup, BackupHost, BackupSettings, FileMarks, MakeFetcher, RestoreFault, Restored, read_time,
    restore_from,
};
use sampan_db::{AppDatabase, HeldOpen, check_file};
use sampan_host::log::Level;
use sampan_host::settings::Settings;
use sampan_serve::fetch;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The options of a restore.
#[derive(Clone, Debug, Default)]
pub struct RestoreOptions {
    /// The URL of the copy, if not that of `[backup]`.
    pub url: Option<String>,
    /// The moment, as the user wrote it; the newest state without one.
    pub at: Option<String>,
    /// The file, if not that of the project.
    pub to: Option<PathBuf>,
    /// True to replace a database that exists.
    pub replaces: bool,
}

/// Restores the database of a project. Returns the file, too.
///
/// # Errors
/// There is nothing to restore, the file exists, or something has failed: one line that says what to do.
pub fn restore(storage: &Storage, options: &RestoreOptions) -> Result<(PathBuf, Restored), String> {
    let fetcher = fetcher(storage.fetch.clone(), storage.root.clone())?;
    let settings = match &options.url {
        Some(url) => Some(BackupSettings::with_url(&storage.backup, url, fetcher)?),
        None => settings(&storage.backup, fetcher)?,
    };
    let settings = settings.ok_or("name the URL of the copy, or set url in [backup]")?;
    let until = options.at.as_deref().map(read_time).transpose()?;
    let to = options.to.as_ref().unwrap_or(&storage.db.path);
    let restored = restore_from(
        &settings,
        until.unwrap_or(u64::MAX),
        to,
        options.replaces,
        &check_file,
    );
    match restored {
        Ok(restored) => Ok((to.clone(), restored)),
        Err(RestoreFault::Nothing(fault) | RestoreFault::Failed(fault)) => Err(fault),
    }
}

fn settings(section: &Settings, fetcher: MakeFetcher) -> Result<Option<BackupSettings>, String> {
    BackupSettings::of(section, fetcher).map_err(|fault| section.tell(&fault))
}

/// Reads `[backup]` of a server.
fn settings_of(config: &AppConfig) -> Result<Option<BackupSettings>, String> {
    let section = config.base.sections.of(&sampan_backup::SECTION);
    let fetch = config.base.sections.of(&fetch::SECTION);
    settings(
        &section,
        fetcher(fetch, config.base.project.root().to_owned())?,
    )
}

/// Returns what makes clients with the settings of `[fetch]`.
pub(crate) fn fetcher(fetch: Settings, root: PathBuf) -> Result<MakeFetcher, String> {
    // Wrong settings are told now.
    fetch::read(&fetch, &root).map_err(|fault| fetch.tell(&fault))?;
    Ok(Arc::new(move || {
        let client = fetch::client_everywhere(&fetch, &root);
        client.expect("the settings have been read before")
    }))
}

/// Restores the database before the server opens it, if there is none and the configuration wants that.
///
/// # Errors
/// The copy cannot be read: one line that says what to do.
pub(crate) fn restore_at_start(config: &AppConfig) -> Result<(), String> {
    let section = config.base.sections.of(&sampan_backup::SECTION);
    if config.database.config.is_postgres() {
        return match settings_of(config)? {
            None => Ok(()),
            Some(_) => Err(
                "[backup] copies a file of SQLite, and [db] url names a PostgreSQL server: leave it out, and use the \
                 server's own backups"
                    .to_owned(),
            ),
        };
    }
    let to = &config.database.config.path;
    if !section.flag("restore") || to.exists() || is_in_memory(to) {
        return Ok(());
    }
    let Some(settings) = settings_of(config)? else {
        return Err("there is no copy to restore: set url in [backup]".to_owned());
    };
    let logger = &config.program.logger;
    match restore_from(&settings, u64::MAX, to, false, &check_file) {
        Ok(restored) => {
            let (file, time) = (to.display(), restored.shown_time());
            let text = format!("backup: {file} is restored, with the commits until {time}");
            logger.text(Level::Info, text);
            for fault in restored.faults {
                let text =
                    format!("backup: the copy is damaged, so later commits are missing: {fault}");
                logger.text(Level::Error, text);
            }
            Ok(())
        }
        Err(RestoreFault::Nothing(fault)) => {
            let text = format!("backup: nothing is restored, the database begins empty: {fault}");
            logger.text(Level::Warn, text);
            Ok(())
        }
        Err(RestoreFault::Failed(fault)) => Err(format!("cannot restore the database: {fault}")),
    }
}

fn is_in_memory(path: &Path) -> bool {
    path.as_os_str() == ":memory:"
}

/// The database before the server opened it, for the copy to go on with.
pub(crate) struct BeforeOpening {
    marks: Option<FileMarks>,
    /// Keeps the log of a process that was killed, until the server has opened the database.
    _held: Option<HeldOpen>,
}

impl BeforeOpening {
    /// Looks at the database, if it is copied.
    pub(crate) fn look(config: &AppConfig) -> Self {
        let is_copied = matches!(settings_of(config), Ok(Some(_)));
        let database = Some(&config.database.config).filter(|_| is_copied);
        // In this order: opening makes a log.
        let marks = database.and_then(|database| FileMarks::of(&database.path));
        Self {
            marks,
            _held: database.and_then(HeldOpen::of),
        }
    }
}

/// Begins to copy the database of a server, if the configuration wants that. While a project is developed, measured or
/// talked to there is no copy: its database is not the one that the copy is of, or another server copies it.
///
/// # Errors
/// The system has no thread left.
pub(crate) fn start(
    config: &Arc<AppConfig>,
    database: &AppDatabase,
    before: BeforeOpening,
) -> Result<Option<Backup>, String> {
    let AppDatabase::Sqlite(database) = database else {
        return Ok(None);
    };
    let path = &config.database.config.path;
    let program = &config.program;
    if program.development.is_some() || program.is_secondary || is_in_memory(path) {
        return Ok(None);
    }
    let Some(settings) = settings_of(config)? else {
        return Ok(None);
    };
    let logger = config.program.logger.clone();
    let host = BackupHost {
        log: Box::new(move |level, text| logger.text(level, text)),
        database: path.clone(),
        marks: before.marks,
        check: check_file,
    };
    let started = Backup::start(settings, Arc::clone(database) as _, host);
    let started = started.map_err(|error| format!("cannot start a thread: {error}"));
    started.map(Some)
}
