//! What went wrong with a statement: the error that the script sees, and the code by which group commit decides what is
//! left of the transaction.
//!
//! A message begins with SQLite's own words, tells the place in the statement where SQLite knows it, and ends with the
//! statement, shortened to one line. The name of the function and the line of the script are added by those who know them.

use crate::config::Script;
use crate::sqlite::open::{PATTERN_BYTES_MAX, VALUE_BYTES_MAX};
use rusqlite::ErrorCode;
use sampan_host::{Error, ErrorKind};
use std::fmt::Write;
use std::time::Duration;

/// The most characters of a statement that an error message shows.
const SHOWN_CHARS_MAX: usize = 200;

/// What went wrong, as far as group commit has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Another connection holds a lock.
    Busy,
    /// The disk, or the size that the database may have, is used up.
    Full,
    /// Reading, writing or opening a file failed.
    Io {
        /// It was the sync: what the operating system had accepted may be lost.
        fsync: bool,
    },
    /// The statement was stopped by its limit, its script's limit or another thread.
    Interrupted,
    /// A constraint, `RAISE` in a trigger included.
    Constraint,
    /// The file is damaged.
    Corrupt,
    /// The file is no database.
    NotADatabase,
    /// The file or the connection cannot be written.
    ReadOnly,
    /// Anything else: a statement that does not parse, a wrong parameter, too little memory.
    Other,
}

/// A statement or a connection that failed.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    /// What the script or the log is told.
    pub error: Error,
    /// What group commit is told.
    pub code: Code,
}

impl Fault {
    /// A fault of the script that SQLite has not seen, about the statement `sql`.
    pub(crate) fn script(message: &str, sql: &str) -> Self {
        Self::new(ErrorKind::Script, Code::Other, with_statement(message, sql))
    }

    /// A fault with a message that is complete.
    pub(crate) fn new(kind: ErrorKind, code: Code, message: impl Into<String>) -> Self {
        Self {
            error: Error::new(kind, message),
            code,
        }
    }

    /// What SQLite said about the statement `sql`, which is the text as the script gave it.
    pub(crate) fn of(error: &rusqlite::Error, sql: &str) -> Self {
        let (kind, code) = classify(error);
        let mut message = words(error);
        if let rusqlite::Error::SqlInputError { offset, .. } = error {
            // SQLite was given the statement without the space around it.
            let leading = sql.len() - sql.trim_start().len();
            let (line, column) = position(sql, leading + usize::try_from(*offset).unwrap_or(0));
            let _ = write!(message, " at {line}:{column}");
        }
        Self::new(kind, code, with_statement(&message, sql))
    }

    /// The statement `sql` ran longer than the limit of that name.
    pub(crate) fn too_long(limit_name: &str, limit: Duration, sql: &str, script: Script) -> Self {
        let advice = match (limit_name, script) {
            ("query_inline_millis_max", Script::Lua) => {
                "run it where the script can wait, outside of db.batch, or raise the limit"
            }
            ("query_inline_millis_max", Script::JavaScript) => {
                "await db.queryAsync outside of db.batch, or raise the limit"
            }
            ("write_millis_max", _) => "change less at a time, or raise the limit",
            _ => "ask for less, or raise the limit",
        };
        let message = format!(
            "the statement ran longer than {limit_name} ({} ms): {advice}",
            limit.as_millis()
        );
        Self::new(
            ErrorKind::TooLong,
            Code::Interrupted,
            with_statement(&message, sql),
        )
    }

    /// The script that runs the statement `sql` was told to stop.
    pub(crate) fn stopped(sql: &str) -> Self {
        Self::new(
            ErrorKind::Stopped,
            Code::Interrupted,
            with_statement("interrupted: the script was stopped", sql),
        )
    }
}

/// SQLite's words, or rusqlite's where SQLite has none.
pub(crate) fn words(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        rusqlite::Error::SqliteFailure(_, Some(message)) => match message.as_str() {
            "LIKE or GLOB pattern too complex" => {
                format!("{message}: it may have {PATTERN_BYTES_MAX} bytes")
            }
            "string or blob too big" => format!("{message}: it may have {VALUE_BYTES_MAX} bytes"),
            _ if message.starts_with("cannot store TEXT value in BLOB column") => {
                format!("{message}: CAST(? AS BLOB) makes bytes of text")
            }
            _ => message.clone(),
        },
        rusqlite::Error::SqliteFailure(error, None)
            if error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE =>
        {
            "the memory that connections share (the file with -shm) cannot grow: is the disk full?"
                .to_owned()
        }
        other => other.to_string(),
    }
}

/// The kind that decides the answer's status, and the code that decides what becomes of the group.
pub(crate) fn classify(error: &rusqlite::Error) -> (ErrorKind, Code) {
    let Some(error) = error.sqlite_error() else {
        return (ErrorKind::Script, Code::Other);
    };
    match error.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => (ErrorKind::Unavailable, Code::Busy),
        ErrorCode::DiskFull => (ErrorKind::Unavailable, Code::Full),
        ErrorCode::SystemIoFailure => {
            let fsync = matches!(
                error.extended_code,
                rusqlite::ffi::SQLITE_IOERR_FSYNC | rusqlite::ffi::SQLITE_IOERR_DIR_FSYNC
            );
            (ErrorKind::Unavailable, Code::Io { fsync })
        }
        ErrorCode::CannotOpen | ErrorCode::FileLockingProtocolFailed => {
            (ErrorKind::Unavailable, Code::Io { fsync: false })
        }
        ErrorCode::OperationInterrupted => (ErrorKind::Unavailable, Code::Interrupted),
        ErrorCode::ConstraintViolation => (ErrorKind::Script, Code::Constraint),
        // A full-text index that does not fit its table, which a script can bring about; the file is whole.
        ErrorCode::DatabaseCorrupt if error.extended_code == rusqlite::ffi::SQLITE_CORRUPT_VTAB => {
            (ErrorKind::Script, Code::Other)
        }
        ErrorCode::DatabaseCorrupt => (ErrorKind::Internal, Code::Corrupt),
        ErrorCode::NotADatabase => (ErrorKind::Internal, Code::NotADatabase),
        ErrorCode::ReadOnly => (ErrorKind::Unavailable, Code::ReadOnly),
        ErrorCode::OutOfMemory => (ErrorKind::Memory, Code::Other),
        ErrorCode::InternalMalfunction | ErrorCode::ApiMisuse => (ErrorKind::Internal, Code::Other),
        _ => (ErrorKind::Script, Code::Other),
    }
}

/// The message with the statement behind it.
pub(crate) fn with_statement(message: &str, sql: &str) -> String {
    let shown = shorten(sql);
    if shown.is_empty() {
        return message.to_owned();
    }
    format!("{message} (in: {shown})")
}

/// The statement on one line, at most [`SHOWN_CHARS_MAX`] characters of it. Control characters become spaces.
fn shorten(sql: &str) -> String {
    let mut shown = String::new();
    let mut count = 0;
    let mut gap = false;
    for char in sql.chars() {
        if char.is_whitespace() || char.is_control() {
            gap = count > 0;
            continue;
        }
        let needed = 1 + usize::from(gap);
        if count + needed > SHOWN_CHARS_MAX {
            shown.push('…');
            break;
        }
        if gap {
            shown.push(' ');
            gap = false;
        }
        shown.push(char);
        count += needed;
    }
    shown
}

/// Line and column, both from 1 and in characters, of a byte of the statement.
fn position(sql: &str, offset: usize) -> (usize, usize) {
    let before = &sql.as_bytes()[..offset.min(sql.len())];
    let line_start = before
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
    // Bytes that continue a character are none of their own.
    let is_start = |byte: &&u8| **byte & 0xC0 != 0x80;
    let column = 1 + before[line_start..].iter().filter(is_start).count();
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_shown_on_one_line_and_cut() {
        assert_eq!(shorten("  SELECT\n\t1,\u{0}  2 "), "SELECT 1, 2");
        assert_eq!(shorten(" \n"), "");
        let exact = "ä".repeat(SHOWN_CHARS_MAX);
        assert_eq!(shorten(&exact), exact);
        let cut = shorten(&format!("{exact}x"));
        assert_eq!(cut.chars().count(), SHOWN_CHARS_MAX + 1);
        assert!(cut.ends_with('…'));
        assert!(shorten(&"a ".repeat(1000)).chars().count() <= SHOWN_CHARS_MAX + 1);
    }

    #[test]
    fn a_position_counts_characters_from_one() {
        assert_eq!(position("SELECT", 0), (1, 1));
        assert_eq!(position("SELECT 'ä' x", 11), (1, 11));
        assert_eq!(position("a\nbc\nd", 5), (3, 1));
        assert_eq!(position("a", 99), (1, 2));
    }

    #[test]
    fn codes_tell_a_failed_sync_from_a_failed_write() {
        let fault = |code| {
            let error =
                rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), Some("x".into()));
            Fault::of(&error, "COMMIT")
        };
        let cases = [
            (rusqlite::ffi::SQLITE_BUSY, Code::Busy, 503),
            (rusqlite::ffi::SQLITE_BUSY_SNAPSHOT, Code::Busy, 503),
            (rusqlite::ffi::SQLITE_LOCKED, Code::Busy, 503),
            (rusqlite::ffi::SQLITE_FULL, Code::Full, 503),
            (
                rusqlite::ffi::SQLITE_IOERR_FSYNC,
                Code::Io { fsync: true },
                503,
            ),
            (
                rusqlite::ffi::SQLITE_IOERR_WRITE,
                Code::Io { fsync: false },
                503,
            ),
            (
                rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE,
                Code::Constraint,
                500,
            ),
            (rusqlite::ffi::SQLITE_CORRUPT, Code::Corrupt, 500),
            (rusqlite::ffi::SQLITE_CORRUPT_VTAB, Code::Other, 500),
            (rusqlite::ffi::SQLITE_NOTADB, Code::NotADatabase, 500),
            (rusqlite::ffi::SQLITE_READONLY, Code::ReadOnly, 503),
            (rusqlite::ffi::SQLITE_NOMEM, Code::Other, 503),
            (rusqlite::ffi::SQLITE_ERROR, Code::Other, 500),
        ];
        for (sqlite, code, status) in cases {
            let fault = fault(sqlite);
            assert_eq!(fault.code, code, "{sqlite}");
            assert_eq!(fault.error.kind().status(), status, "{sqlite}");
            assert_eq!(fault.error.message(), "x (in: COMMIT)");
        }
    }
}
