//! After the disk failed: writing begins again when a fresh connection has written and synced.
//!
//! A failed sync may have thrown away what it was to write (the kernel marks the pages clean all the same), so nothing
//! that the old connection believes can be trusted. A fresh one reads the log as it is on disk, and its first commit
//! writes over what the failed one left.

use crate::config::DatabaseConfig;
use crate::database::ReportLine;
use crate::group_commit::writer::{Refused, WriterHandover};
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::error::StatementError;
use crate::sqlite::open::Role;
use std::sync::Arc;
use std::time::Duration;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(200);

/// Tries until it succeeds or the database is closed, on a thread of its own.
pub(crate) fn start(config: DatabaseConfig, writers: Arc<WriterHandover>, report: ReportLine) {
    let failed = Arc::clone(&report);
    let work = move || {
        while matches!(writers.refused(), Some(Refused::Broken(_))) {
            std::thread::sleep(PAUSE);
            if let Ok(writer) = attempt(&config) {
                report("the database can be written again");
                writers.give(Box::new(writer));
                return;
            }
        }
    };
    if let Err(error) = std::thread::Builder::new()
        .name("sampan-repair".into())
        .spawn(work)
    {
        failed(&format!(
            "the database stays read-only until the next start: {error}"
        ));
    }
}

const READ_VERSION: &str = "PRAGMA user_version";

/// Writes the first page anew, with nothing changed in it, and syncs it.
fn attempt(config: &DatabaseConfig) -> Result<SqliteConnection, StatementError> {
    let writer = SqliteConnection::open(config, Role::Writer)?;
    writer.control("BEGIN IMMEDIATE")?;
    let version: i64 = writer
        .sqlite()
        .query_row(READ_VERSION, (), |row| row.get(0))
        .map_err(|error| StatementError::of(&error, READ_VERSION))?;
    writer.control(&format!("PRAGMA user_version = {version}"))?;
    writer.commit()?;
    Ok(writer)
}
