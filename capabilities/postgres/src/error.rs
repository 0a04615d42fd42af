//! Errors of PostgreSQL as scripts see them: the codes are those of the SQLite backend.
//!
//! A message begins with the server's own words, tells the place in the statement where the server knows it, and ends
//! with the statement, shortened to one line.

use crate::sql::Sql;
use sampan_host::database::COMMIT_UNKNOWN;
use sampan_host::statement_text::{position, with_statement};
use sampan_host::{Details, Error, ErrorKind, Hint};
use std::fmt::Write;

/// The code of parameters that do not fit. The server gives none such.
const PARAMETER: &str = "parameter";

/// An error or a notice of the server: its fields, see "Error and Notice Message Fields" in the documentation of the
/// protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerError {
    pub(crate) sqlstate: String,
    pub(crate) message: String,
    pub(crate) detail: String,
    pub(crate) hint: String,
    /// The character of the statement, from 1; 0 if it is not known.
    pub(crate) position: usize,
    pub(crate) table: String,
    pub(crate) column: String,
    pub(crate) constraint: String,
    /// The places that it happened in, such as the line of a COPY.
    pub(crate) context: String,
    /// The function of the server that raised it.
    pub(crate) routine: String,
    /// True if the server ends the connection.
    pub(crate) is_fatal: bool,
}

impl ServerError {
    /// Reads the fields of a message.
    pub(crate) fn read(body: &[u8]) -> Self {
        let mut error = Self::default();
        for field in body.split(|&byte| byte == 0) {
            let Some((&kind, text)) = field.split_first() else {
                continue;
            };
            let text = String::from_utf8_lossy(text);
            let place = match kind {
                b'V' => {
                    error.is_fatal = text == "FATAL" || text == "PANIC";
                    continue;
                }
                b'P' => {
                    error.position = text.parse().unwrap_or(0);
                    continue;
                }
                b'C' => &mut error.sqlstate,
                b'M' => &mut error.message,
                b'D' => &mut error.detail,
                b'H' => &mut error.hint,
                b't' => &mut error.table,
                b'c' => &mut error.column,
                b'n' => &mut error.constraint,
                b'W' => &mut error.context,
                b'R' => &mut error.routine,
                _ => continue,
            };
            *place = text.into_owned();
        }
        error
    }

    /// Reports whether the transaction failed because of others: it can be run again.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(&*self.sqlstate, "40001" | "40P01")
    }

    /// Reports whether a statement that was prepared does not fit any more, or is not there: it has not run.
    pub(crate) fn is_stale(&self) -> bool {
        match &*self.sqlstate {
            "0A000" => self.routine == "RevalidateCachedQuery",
            // Invalid statement name; a protocol violation by Bind, whose formats are those of other columns.
            "26000" => true,
            "08P01" => {
                self.routine == "exec_bind_message" || self.routine == "PortalSetResultFormat"
            }
            _ => false,
        }
    }

    /// The kind that decides the answer's status, and the code.
    fn classify(&self) -> (ErrorKind, Option<&'static str>) {
        let state = &*self.sqlstate;
        let class = state.get(..2).unwrap_or_default();
        let (kind, code) = match state {
            "23505" | "23P01" => (ErrorKind::Script, "unique"),
            "23503" | "23001" => (ErrorKind::Script, "foreign_key"),
            "23502" => (ErrorKind::Script, "not_null"),
            "22P02" | "22007" | "42804" => (ErrorKind::Script, "type"),
            "22001" => (ErrorKind::Script, "too_large"),
            "42501" => (ErrorKind::Script, "denied"),
            "40001" | "40P01" | "55P03" | "53300" => (ErrorKind::Unavailable, "busy"),
            "57014" | "25P03" | "57P05" => (ErrorKind::TooLong, "timeout"),
            "25006" => (ErrorKind::Unavailable, "read_only"),
            "53100" => (ErrorKind::Unavailable, "full"),
            "25P02" => (ErrorKind::Script, "aborted"),
            "XX001" | "XX002" => (ErrorKind::Internal, "corrupt"),
            "53200" => (ErrorKind::Unavailable, "full"),
            _ => match class {
                "23" | "44" => (ErrorKind::Script, "check"),
                "22" => (ErrorKind::Script, "data"),
                "42" | "3D" | "3F" | "26" | "34" | "0A" => (ErrorKind::Script, "syntax"),
                "54" => (ErrorKind::Script, "too_large"),
                "P0" => (ErrorKind::Script, "trigger"),
                "40" | "25" | "2D" => (ErrorKind::Script, "aborted"),
                "28" => (ErrorKind::Unavailable, "denied"),
                "08" | "57" | "58" | "53" => (ErrorKind::Unavailable, "io"),
                "55" => (ErrorKind::Unavailable, "busy"),
                _ => return (ErrorKind::Internal, None),
            },
        };
        (kind, Some(code))
    }

    /// The line of a COPY that it is about, from 1: `COPY notes, line 3, column title: "..."`, in each of the server's
    /// languages.
    pub(crate) fn copied_line(&self, table: &str) -> Option<usize> {
        let place = self.context.strip_prefix("COPY ")?.strip_prefix(table)?;
        let number = place.trim_start_matches(|one: char| !one.is_ascii_digit());
        let end = number.find(|one: char| !one.is_ascii_digit());
        number[..end.unwrap_or(number.len())].parse().ok()
    }

    /// The message with the detail that the server adds.
    pub(crate) fn words(&self) -> String {
        let mut words = self.message.clone();
        for (more, before) in [(&self.detail, ": "), (&self.hint, "; hint: ")] {
            if !more.is_empty() {
                words.push_str(before);
                words.push_str(more.trim_end_matches('.'));
            }
        }
        words
    }

    /// Returns the error that a script sees. `sql` is the statement as it is written, `parsed` the one that was sent.
    pub(crate) fn error(&self, sql: &str, parsed: Option<&Sql>) -> Error {
        let (kind, code) = self.classify();
        let mut message = self.words();
        let mut shown = sql;
        if let Some(at) = self.position.checked_sub(1) {
            let sent = parsed.map_or(sql, |parsed| &parsed.text);
            let byte = sent.char_indices().nth(at).map(|(byte, _)| byte);
            let byte = byte.unwrap_or(sent.len());
            let (line, column) = position(sql, parsed.map_or(byte, |parsed| parsed.place(byte)));
            let _ = write!(message, " at {line}:{column}");
            if parsed.is_none() {
                // Of several statements the line at fault says more than the first ones.
                shown = sql.lines().nth(line - 1).unwrap_or(sql);
            }
        }
        if self.sqlstate == "42P18" {
            message.push_str("; write its type: CAST(? AS text)");
        }
        if self.sqlstate == "42601" && self.routine == "exec_parse_message" {
            message.push_str("; one statement at a time: use db.batch");
        }
        // The name of the schema is all that the server's message adds to its state.
        if self.sqlstate == "42501" && self.message.contains("schema") {
            message.push_str(
                "; let the owner run GRANT CREATE ON SCHEMA for this role, or start the app once as the owner",
            );
        }
        let error = Error::new(kind, with_statement(&message, shown));
        let Some(code) = code else {
            return error;
        };
        error.with_details(Details {
            code: code.into(),
            table: Some(self.table.clone()).filter(|table| !table.is_empty()),
            columns: self.columns(),
            constraint: Some(self.constraint.clone()).filter(|name| !name.is_empty()),
        })
    }

    /// The columns that it is about: of keys the server names them in the detail alone, `Key (a, b)=(1, 2) ...`, in
    /// each of its languages.
    fn columns(&self) -> Vec<String> {
        if !self.column.is_empty() {
            return vec![self.column.clone()];
        }
        if !matches!(&*self.sqlstate, "23505" | "23503") {
            return Vec::new();
        }
        let list = self.detail.split_once('(');
        let list = list.and_then(|(_, rest)| rest.split_once(")=("));
        let Some((list, _)) = list else {
            return Vec::new();
        };
        // An index on an expression names no column.
        match list.contains(['(', ')']) {
            true => Vec::new(),
            false => list
                .split(", ")
                .map(|name| name.trim_matches('"').to_owned())
                .collect(),
        }
    }
}

/// A statement or a connection that failed.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The server said so. `step` is the statement's index among those that were sent together.
    Server {
        error: Box<ServerError>,
        step: usize,
    },
    /// The connection was lost. Nothing was sent of the statement, so nothing happened.
    NotSent(String),
    /// A transaction has taken the connection before the statement was sent. Another one will do.
    Taken,
    /// The connection was lost, and the statement's transaction with it: it was not committed.
    Lost(String),
    /// The connection was lost while a commit may have been under way.
    Unknown(String),
    /// The result is larger than allowed.
    TooLarge(usize),
    /// The types of the columns were changed since the statement was described.
    Changed,
    /// The time is up.
    Late(u64),
    /// The server was asked to stop another statement, and stopped this one. Nothing came of it.
    Hit,
    /// The error is complete.
    Refused(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl Failure {
    /// Reports whether the statement was run, and only its rows cannot be given.
    pub(crate) fn is_of_rows(&self) -> bool {
        matches!(self, Self::TooLarge(_) | Self::Changed)
    }

    /// Returns the error of a statement that changes something, outside of a transaction: where it was run, its changes
    /// are committed.
    pub(crate) fn error_of_write(self, sql: &str, parsed: &Sql) -> Error {
        let (kind, code, why) = match &self {
            Self::TooLarge(max) => (
                ErrorKind::Script,
                "too_large",
                format!("they are larger than result_bytes_max ({max} bytes)"),
            ),
            Self::Changed => (
                ErrorKind::Internal,
                COMMIT_UNKNOWN,
                "their columns were changed just now".to_owned(),
            ),
            _ => return self.error(sql, Some(parsed)),
        };
        let message = format!(
            "the rows that it returns cannot be given: {why}; its changes are saved (in db.transaction they would not \
             be)"
        );
        Error::new(kind, with_statement(&message, sql)).with_code(code)
    }

    /// Returns the error that a script sees.
    pub(crate) fn error(self, sql: &str, parsed: Option<&Sql>) -> Error {
        let (kind, code, message) = match self {
            Self::Server { error, .. } => return error.error(sql, parsed),
            Self::Refused(error) => return error,
            Self::Taken => (
                ErrorKind::Unavailable,
                "busy",
                "transactions have taken each connection to PostgreSQL".to_owned(),
            ),
            Self::NotSent(why) | Self::Lost(why) => (
                ErrorKind::Unavailable,
                "io",
                format!("the connection to PostgreSQL was lost, and nothing was changed: {why}"),
            ),
            Self::Unknown(why) => return unknown(&why, sql),
            Self::TooLarge(max) => (
                ErrorKind::Script,
                "too_large",
                format!(
                    "the result is larger than result_bytes_max ({max} bytes): ask for fewer rows (LIMIT) or fewer \
                     columns"
                ),
            ),
            Self::Late(millis) => (
                ErrorKind::TooLong,
                "timeout",
                format!(
                    "the statement ran longer than statement_millis_max ({millis} ms): ask for less, or raise the limit"
                ),
            ),
            Self::Changed => (
                ErrorKind::Unavailable,
                "busy",
                "the columns of its result were changed just now: it was run, but its rows cannot be given".to_owned(),
            ),
            Self::Hit => (
                ErrorKind::Unavailable,
                "busy",
                "the server stopped the statement in the place of another: try again".to_owned(),
            ),
        };
        Error::new(kind, with_statement(&message, sql)).with_code(code)
    }
}

/// Returns the error of a commit of which no answer came.
pub(crate) fn unknown(why: &str, sql: &str) -> Error {
    let message = format!(
        "the connection to PostgreSQL was lost before it said whether the changes were committed: they may be there or \
         not: {why}"
    );
    Error::new(ErrorKind::Internal, with_statement(&message, sql)).with_code(COMMIT_UNKNOWN)
}

/// Returns the error of a statement that was refused before it was sent.
pub(crate) fn refused(code: &'static str, message: &str, sql: &str) -> Error {
    Error::script(with_statement(message, sql)).with_code(code)
}

/// Returns the error of parameters that do not fit.
pub(crate) fn parameter(message: &str, hint: Option<Hint>, sql: &str) -> Error {
    refused(PARAMETER, message, sql).with_hint(hint)
}

/// Reports whether an error is about parameters that do not fit, so that the statement was not sent.
pub(crate) fn is_parameter(error: &Error) -> bool {
    error.code() == Some(PARAMETER)
}
