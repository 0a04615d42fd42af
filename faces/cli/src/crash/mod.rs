//! Reports of crashes: text files about a signal that ends the server, or a panic that it survives. Nothing is sent
//! anywhere. The route is told as it is declared, so a report has no data of clients, unless the text of a panic has.

mod handler;
mod panics;
mod report;
#[cfg(test)]
mod tests;

use report::Facts;
use rustix::fs::{Access, access};
use sampan_runtime::AppConfig;
use std::fs::DirBuilder;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, absolute};

/// Writes reports from now on, where the configuration wants any. To be called once, as the user that the server runs
/// as, before the process confines itself and before it has threads.
pub(crate) fn watch(config: &AppConfig) {
    let folder = config.crash_folder();
    if let Some(facts) = folder.and_then(|folder| Facts::new(&folder)) {
        // A signal may come until the process ends.
        let facts: &'static Facts = Box::leak(Box::new(facts));
        // Without the folder of its database the server does not start, and says so.
        if !is_in_missing_database_folder(facts.folder(), config)
            && let Err(error) = make_parent(facts.folder())
        {
            let folder = facts.folder().display();
            // Should this fail too, there is no other way to tell it.
            let _ = writeln!(
                io::stderr(),
                "warning: crash reports cannot be written to {folder}: {error}"
            );
        }
        report::remove_old(facts.folder());
        sampan_runtime::tell_running_routes();
        handler::install(facts);
        panics::install(facts);
    }
}

/// Reports whether the folder of the reports lies in that of the database, which is not there. It must not be made: the
/// path of the database may be mistyped.
fn is_in_missing_database_folder(folder: &Path, config: &AppConfig) -> bool {
    let database = &config.database.config;
    let parent = database.path.parent().filter(|_| !database.is_postgres());
    let parent = parent.and_then(|parent| absolute(parent).ok());
    parent.is_some_and(|parent| folder.starts_with(&parent) && !parent.is_dir())
}

/// Makes the folders above that of the reports, which is made with the first report, and looks whether reports can be
/// written.
fn make_parent(folder: &Path) -> io::Result<()> {
    let Some(parent) = folder.parent() else {
        return Ok(());
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(parent)?;
    let place = match folder.try_exists()? {
        true if !folder.is_dir() => return Err(io::ErrorKind::NotADirectory.into()),
        true => folder,
        false => parent,
    };
    Ok(access(place, Access::WRITE_OK | Access::EXEC_OK)?)
}
