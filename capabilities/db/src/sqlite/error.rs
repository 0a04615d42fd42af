//! The error of a statement: the error that the script sees, and the code by which group commit decides what is
//! left of the transaction.
//!
//! A message begins with SQLite's own words, tells the place in the statement where SQLite knows it, and ends with the
//! statement, shortened to one line. The name of the function and the line of the script are added by those who know
//! them.

use crate::sqlite::limits::{PATTERN_BYTES_MAX, VALUE_BYTES_MAX};
use rusqlite::ErrorCode as SqliteCode;
use rusqlite::ffi;
use sampan_host::statement_text::{position, with_statement};
use sampan_host::{Details, Error, ErrorKind};
use std::fmt::Write;
use std::time::Duration;

/// The kind of a statement's error: group commit acts on it, and scripts see its name as `code`. The names are
/// documented in `docs/data/database.md`, stay the
/// same, and fit other databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorCode {
    /// A UNIQUE constraint or a primary key.
    Unique,
    /// A foreign key.
    ForeignKey,
    /// A NOT NULL constraint.
    NotNull,
    /// A CHECK constraint.
    Check,
    /// A value of a type that its column does not take.
    Type,
    /// `RAISE` in a trigger.
    Trigger,
    /// The statement does not parse, or names what does not exist.
    Syntax,
    /// The parameters do not fit the statement.
    Parameter,
    /// A function was given a value that it refuses: text that is not JSON, a number that is too large.
    Data,
    /// Scripts may not run this statement.
    Denied,
    /// A value, a statement or a result is larger than its limit.
    TooLarge,
    /// The statement ran longer than its limit.
    Timeout,
    /// The statement was stopped with its script, or the server is ending. No script is left that could see a code.
    Interrupted,
    /// Another connection holds a lock, or too many wait already.
    Busy,
    /// The disk, or the size that the database may have, is used up.
    Full,
    /// Reading, writing or opening a file failed.
    Io {
        /// True if the sync failed: what the operating system had accepted may be lost.
        fsync: bool,
    },
    /// The file or the connection cannot be written.
    ReadOnly,
    /// The file is damaged.
    Corrupt,
    /// The file is not a database.
    NotADatabase,
    /// An earlier error undid the transaction, or it could not be committed.
    Aborted,
    /// A fault of the server itself, or too little memory. Scripts see no code.
    Internal,
}

impl ErrorCode {
    /// The name that scripts see, if they see one.
    pub(crate) fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::Unique => "unique",
            Self::ForeignKey => "foreign_key",
            Self::NotNull => "not_null",
            Self::Check => "check",
            Self::Type => "type",
            Self::Trigger => "trigger",
            Self::Syntax => "syntax",
            Self::Parameter => "parameter",
            Self::Data => "data",
            Self::Denied => "denied",
            Self::TooLarge => "too_large",
            Self::Timeout => "timeout",
            Self::Busy => "busy",
            Self::Full => "full",
            Self::Io { .. } => "io",
            Self::ReadOnly => "read_only",
            Self::Corrupt | Self::NotADatabase => "corrupt",
            Self::Aborted => "aborted",
            Self::Interrupted | Self::Internal => return None,
        })
    }

    /// An error with this code that no statement is to blame for.
    pub(crate) fn error(self, kind: ErrorKind, message: impl Into<String>) -> Error {
        let error = Error::new(kind, message);
        match self.name() {
            Some(name) => error.with_code(name),
            None => error,
        }
    }
}

/// A statement or a connection that failed.
#[derive(Clone, Debug)]
pub(crate) struct StatementError {
    /// The error for the script or the log.
    pub error: Error,
    /// The code for group commit.
    pub code: ErrorCode,
}

impl StatementError {
    /// The statement `sql` was refused before SQLite ran it.
    pub(crate) fn refused(code: ErrorCode, message: &str, sql: &str) -> Self {
        Self::new(ErrorKind::Script, code, with_statement(message, sql))
    }

    /// An error with a message that is complete.
    pub(crate) fn new(kind: ErrorKind, code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            error: code.error(kind, message),
            code,
        }
    }

    /// Converts SQLite's error on the statement `sql`, which is the text as the script gave it.
    pub(crate) fn of(error: &rusqlite::Error, sql: &str) -> Self {
        let (kind, code) = classify(error);
        Self::classified(error, kind, code, sql)
    }

    /// Converts SQLite's error while preparing the statement `sql`: what it does not understand there is the statement,
    /// not a value.
    pub(crate) fn of_preparing(error: &rusqlite::Error, sql: &str) -> Self {
        match classify(error) {
            (kind, ErrorCode::Data) => Self::classified(error, kind, ErrorCode::Syntax, sql),
            (kind, code) => Self::classified(error, kind, code, sql),
        }
    }

    fn classified(error: &rusqlite::Error, kind: ErrorKind, code: ErrorCode, sql: &str) -> Self {
        let mut message = words(error);
        if let rusqlite::Error::SqlInputError { offset, .. } = error {
            // SQLite was given the statement without the space around it.
            let leading = sql.len() - sql.trim_start().len();
            let (line, column) = position(sql, leading + usize::try_from(*offset).unwrap_or(0));
            let _ = write!(message, " at {line}:{column}");
        }
        let failed = Self::new(kind, code, with_statement(&message, sql));
        match (error, code.name()) {
            (rusqlite::Error::SqliteFailure(_, Some(said)), Some(name)) => Self {
                error: failed.error.with_details(Details {
                    code: name.into(),
                    ..violated(code, said)
                }),
                code,
            },
            _ => failed,
        }
    }

    /// The statement `sql` ran longer than the limit of that name.
    pub(crate) fn too_long(limit_name: &str, limit: Duration, sql: &str) -> Self {
        let advice = match limit_name {
            "query_inline_millis_max" => "run it where it can wait, outside of db.batch",
            "write_millis_max" => "change less at a time",
            _ => "ask for less",
        };
        let message = format!(
            "the statement ran longer than {limit_name} ({} ms): {advice}, or raise the limit",
            limit.as_millis()
        );
        Self::new(
            ErrorKind::TooLong,
            ErrorCode::Timeout,
            with_statement(&message, sql),
        )
    }

    /// The script that runs the statement `sql` was told to stop.
    pub(crate) fn stopped(sql: &str) -> Self {
        Self::new(
            ErrorKind::Stopped,
            ErrorCode::Interrupted,
            with_statement("interrupted: the script was stopped", sql),
        )
    }
}

/// The table, the columns and the constraint that SQLite names. Of foreign keys it names nothing.
fn violated(code: ErrorCode, said: &str) -> Details {
    let mut details = Details::default();
    let named = |start: &str| said.strip_prefix(start);
    match code {
        ErrorCode::Unique => match named("UNIQUE constraint failed: ") {
            // One on an expression, which no column tells.
            Some(index) if index.starts_with("index '") => {
                let name = index["index '".len()..].trim_end_matches('\'');
                details.constraint = Some(name.to_owned());
            }
            Some(list) => name_columns(&mut details, list),
            None => {}
        },
        ErrorCode::NotNull => {
            if let Some(column) = named("NOT NULL constraint failed: ") {
                name_columns(&mut details, column);
            }
        }
        ErrorCode::Check => {
            details.constraint = named("CHECK constraint failed: ").map(str::to_owned);
        }
        // Of a STRICT table: "cannot store TEXT value in INTEGER column t.a".
        ErrorCode::Type => {
            if let Some((_, column)) = said.split_once(" column ") {
                name_columns(&mut details, column);
            }
        }
        _ => {}
    }
    details
}

/// Takes `t.a, t.b` apart. A name with a dot of its own could be read in two ways, so nothing is told of it.
fn name_columns(details: &mut Details, list: &str) {
    let mut columns = Vec::new();
    let mut table = None;
    for item in list.split(", ") {
        match item.split_once('.') {
            Some((of, column))
                if !column.contains('.') && table.is_none_or(|known| known == of) =>
            {
                table = Some(of);
                columns.push(column.to_owned());
            }
            _ => return,
        }
    }
    details.table = table.map(str::to_owned);
    details.columns = columns;
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
            if error.extended_code == ffi::SQLITE_IOERR_SHMSIZE =>
        {
            "the memory that connections share (the file with -shm) cannot grow: is the disk full?"
                .to_owned()
        }
        other => other.to_string(),
    }
}

/// The kind that decides the answer's status, and the code that decides what becomes of the group.
pub(crate) fn classify(error: &rusqlite::Error) -> (ErrorKind, ErrorCode) {
    let Some(sqlite) = error.sqlite_error() else {
        return (ErrorKind::Script, ErrorCode::Syntax);
    };
    match sqlite.code {
        SqliteCode::DatabaseBusy | SqliteCode::DatabaseLocked => {
            (ErrorKind::Unavailable, ErrorCode::Busy)
        }
        SqliteCode::DiskFull => (ErrorKind::Unavailable, ErrorCode::Full),
        SqliteCode::SystemIoFailure => {
            let fsync = matches!(
                sqlite.extended_code,
                ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC
            );
            (ErrorKind::Unavailable, ErrorCode::Io { fsync })
        }
        SqliteCode::CannotOpen | SqliteCode::FileLockingProtocolFailed => {
            (ErrorKind::Unavailable, ErrorCode::Io { fsync: false })
        }
        SqliteCode::OperationInterrupted => (ErrorKind::Unavailable, ErrorCode::Interrupted),
        SqliteCode::ConstraintViolation => (ErrorKind::Script, constraint(sqlite.extended_code)),
        SqliteCode::TypeMismatch => (ErrorKind::Script, ErrorCode::Type),
        SqliteCode::TooBig => (ErrorKind::Script, ErrorCode::TooLarge),
        SqliteCode::ParameterOutOfRange => (ErrorKind::Script, ErrorCode::Parameter),
        SqliteCode::AuthorizationForStatementDenied => (ErrorKind::Script, ErrorCode::Denied),
        // A full-text index that does not fit its table, which a script can bring about; the file is whole.
        SqliteCode::DatabaseCorrupt if sqlite.extended_code == ffi::SQLITE_CORRUPT_VTAB => {
            (ErrorKind::Script, ErrorCode::Data)
        }
        SqliteCode::DatabaseCorrupt => (ErrorKind::Internal, ErrorCode::Corrupt),
        SqliteCode::NotADatabase => (ErrorKind::Internal, ErrorCode::NotADatabase),
        SqliteCode::ReadOnly => (ErrorKind::Unavailable, ErrorCode::ReadOnly),
        SqliteCode::OutOfMemory => (ErrorKind::Memory, ErrorCode::Internal),
        SqliteCode::InternalMalfunction | SqliteCode::ApiMisuse => {
            (ErrorKind::Internal, ErrorCode::Internal)
        }
        // A statement that is prepared again, because the schema was changed, may not find its table any more.
        _ if words(error).starts_with("no such ") => (ErrorKind::Script, ErrorCode::Syntax),
        _ => (ErrorKind::Script, ErrorCode::Data),
    }
}

fn constraint(extended_code: i32) -> ErrorCode {
    match extended_code {
        ffi::SQLITE_CONSTRAINT_UNIQUE
        | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
        | ffi::SQLITE_CONSTRAINT_ROWID => ErrorCode::Unique,
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => ErrorCode::ForeignKey,
        ffi::SQLITE_CONSTRAINT_NOTNULL => ErrorCode::NotNull,
        ffi::SQLITE_CONSTRAINT_DATATYPE => ErrorCode::Type,
        ffi::SQLITE_CONSTRAINT_TRIGGER => ErrorCode::Trigger,
        // Of the table, or of a module such as R*Tree.
        _ => ErrorCode::Check,
    }
}

#[cfg(test)]
mod tests;
