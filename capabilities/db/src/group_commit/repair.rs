//! After the disk failed: writing begins again when a fresh connection has written and synced.
//!
//! A failed sync may have thrown away what it was to write: the kernel marks the pages clean all the same, and a read
//! still shows them. So the log's file cannot be trusted: it may show a transaction as committed that is not on the
//! disk, and what was written behind that would be lost with the power. The log's index in shared memory ends at the
//! last commit that was synced. It lasts as long as a connection uses it, so the connection that failed is closed only
//! when the fresh one has read it; the fresh one's first commit writes over what the failed one left.

use crate::config::DatabaseConfig;
use crate::database::ReportLine;
use crate::group_commit::writer::{Refused, WriterHandover};
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::error::StatementError;
use crate::sqlite::open::Role;
use crate::sqlite::run::RunLimits;
use sampan_host::log::Level;
use sampan_host::{Cell, Value};
use std::sync::Arc;
use std::time::Duration;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(200);

/// Tries until it succeeds or the database is closed, on a thread of its own. `failed` is the connection whose write
/// failed; nothing is open in it any more.
pub(crate) fn start(
    config: DatabaseConfig,
    writers: Arc<WriterHandover>,
    report: ReportLine,
    failed: Option<Box<SqliteConnection>>,
) {
    let on_no_thread = Arc::clone(&report);
    let work = move || {
        let _failed = failed;
        while matches!(writers.refused(), Some(Refused::Broken(_))) {
            std::thread::sleep(PAUSE);
            if let Ok(writer) = attempt(&config) {
                config.file.learn_logs(&config.path);
                report(Level::Warn, "the database can be written again");
                writers.give(Box::new(writer));
                return;
            }
        }
    };
    if let Err(error) = std::thread::Builder::new()
        .name("sampan-repair".into())
        .spawn(work)
    {
        let text = format!("the database stays read-only until the next start: {error}");
        on_no_thread(Level::Error, &text);
    }
}

/// The times that a log is copied until all of it is there, and the pause between: readers end meanwhile that need an
/// old state of the database.
const COPIES: (u32, Duration) = (20, Duration::from_millis(5));

/// Copies the log into the database, with a connection that has it open. What the connection has not committed is
/// undone. Reports whether all of the log was copied.
pub(crate) fn copy_log(writer: &SqliteConnection) -> bool {
    let limits = RunLimits {
        limit: None,
        must_stop: None,
        first_only: false,
        result_bytes_max: 64 * 1024,
        limit_name: "",
    };
    if writer.in_transaction() && writer.control("ROLLBACK").is_err() {
        return false;
    }
    for _ in 0..COPIES.0 {
        let rows = writer.own_query("PRAGMA wal_checkpoint(PASSIVE)", &Value::Null, &limits);
        let Ok(rows) = rows else {
            return false;
        };
        // The second is the number of pages in the log, the third of those in the database: below zero if not known.
        let cells = (!rows.is_empty()).then(|| (rows.cell(0, 1), rows.cell(0, 2)));
        if let Some((Cell::Int(log), Cell::Int(copied))) = cells
            && log >= 0
            && log == copied
        {
            return true;
        }
        std::thread::sleep(COPIES.1);
    }
    false
}

const READ_VERSION: &str = "PRAGMA user_version";

/// Opens a connection that has written.
fn attempt(config: &DatabaseConfig) -> Result<SqliteConnection, StatementError> {
    let writer = SqliteConnection::open(config, Role::Writer)?;
    rewrite(&writer)?;
    Ok(writer)
}

/// Writes the first page anew, with nothing changed in it, and syncs it.
///
/// # Errors
/// It cannot be written now; a transaction may still be open.
pub(crate) fn rewrite(writer: &SqliteConnection) -> Result<(), StatementError> {
    writer.control("BEGIN IMMEDIATE")?;
    let version: i64 = writer
        .sqlite()
        .query_row(READ_VERSION, (), |row| row.get(0))
        .map_err(|error| StatementError::of(&error, READ_VERSION))?;
    writer.control(&format!("PRAGMA user_version = {version}"))?;
    writer.commit()
}
