//! The statements of a text, one by one, as SQLite's own parser separates them.
//!
//! A `;` inside a string, a comment or a trigger ends nothing, and each statement is prepared only after the one before
//! has run, because it may need the table which that one made.

use crate::sqlite::error::words;
use crate::sqlite::memory;
use rusqlite::limits::Limit;
use rusqlite::{Batch, Connection, Error, Statement, fallible_iterator::FallibleIterator};

/// The part of the text that is shown to the parser at first. It copies what it is shown, so that showing it the whole
/// rest for each statement
/// would cost the square of the text's length.
const WINDOW_BYTES: usize = 16 * 1024;

/// Begins or ends transactions, or cannot run in one.
const REFUSED: [&str; 9] = [
    "BEGIN",
    "COMMIT",
    "END",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE",
    "ATTACH",
    "DETACH",
    "VACUUM",
];

/// A text and how far it has been read.
pub(super) struct Statements<'c, 't> {
    sqlite: &'c Connection,
    text: &'t str,
    at: usize,
}

/// A fault in a text, with its byte position.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SplitError {
    /// The start of the statement.
    pub(super) start: usize,
    /// The position of the error in the statement, if SQLite knows.
    pub(super) place: Option<usize>,
    pub(super) message: String,
}

impl SplitError {
    /// Converts SQLite's error on the statement at `start`.
    pub(super) fn of(error: &Error, start: usize) -> Self {
        let place = match error {
            Error::SqlInputError { offset, .. } => usize::try_from(*offset).ok(),
            _ => None,
        };
        Self {
            start,
            place: place.map(|offset| start + offset),
            message: words(error),
        }
    }

    /// A fault of the statement at `start`.
    pub(super) fn at(start: usize, message: String) -> Self {
        Self {
            start,
            place: None,
            message,
        }
    }
}

impl<'c, 't> Statements<'c, 't> {
    pub(super) fn new(sqlite: &'c Connection, text: &'t str) -> Self {
        Self {
            sqlite,
            text,
            at: 0,
        }
    }

    /// The next statement and the byte at which it begins; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(usize, Statement<'c>)>, SplitError> {
        let start = skip(self.text, self.at);
        let rest = &self.text[start..];
        if rest.is_empty() {
            return Ok(None);
        }
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let length = rest
            .bytes()
            .position(|byte| !is_part(byte))
            .unwrap_or(rest.len());
        let word = &rest[..length];
        if REFUSED.iter().any(|known| word.eq_ignore_ascii_case(known)) {
            return Err(SplitError::at(
                start,
                format!(
                    "{} cannot be used in a migration: each file is one transaction, begun and committed for it",
                    word.to_ascii_uppercase()
                ),
            ));
        }
        let (statement, length) = self.prepare(start)?;
        self.at = start + length;
        Ok(Some((start, statement)))
    }

    /// Prepares the statement that begins at `start`. Returns its length too.
    fn prepare(&self, start: usize) -> Result<(Statement<'c>, usize), SplitError> {
        let rest = &self.text[start..];
        let mut window = WINDOW_BYTES;
        loop {
            let end = rest.floor_char_boundary(window);
            let is_all = end == rest.len();
            match Batch::new(self.sqlite, &rest[..end]).next() {
                Ok(Some(statement)) => {
                    if statement.parameter_count() > 0 {
                        let message = "a parameter in a migration: nothing can be given for it";
                        return Err(SplitError::at(start, message.to_owned()));
                    }
                    // Without parameters this is the text as it was prepared, up to where the statement ends.
                    let sql = statement.expanded_sql().unwrap_or_default();
                    if sql.ends_with(';') {
                        return Ok((statement, sql.len()));
                    }
                    if is_all {
                        if let Some(at) = rest.find('\0') {
                            return Err(SplitError {
                                start,
                                place: Some(start + at),
                                message:
                                    "a NUL character in a migration: SQLite reads nothing behind it"
                                        .to_owned(),
                            });
                        }
                        return Ok((statement, rest.len()));
                    }
                }
                Ok(None) if is_all => {
                    let message = "nothing that SQLite takes for a statement";
                    return Err(SplitError::at(start, message.to_owned()));
                }
                Err(error) if is_all => return Err(SplitError::of(&error, start)),
                // Where the window ends is not where the statement ends.
                Ok(None) | Err(_) => {}
            }
            window = window.saturating_mul(4);
        }
    }
}

/// Runs the statements of a text in an empty database in memory, each before the next is looked at, as a migration does
/// in its own. Returns them with the bytes at which they begin.
///
/// # Errors
/// The first fault, in words.
pub fn try_statements(text: &str) -> Result<Vec<(usize, String)>, String> {
    run_all(text).map_err(|fault| fault.message)
}

fn run_all(text: &str) -> Result<Vec<(usize, String)>, SplitError> {
    /// A statement that runs for longer is stopped: in instructions of SQLite's machine.
    const INSTRUCTIONS_MAX: i32 = 1_000_000;
    /// The longest text or row, in bytes.
    const VALUE_BYTES_MAX: i32 = 16 * 1024 * 1024;
    let failed = |error: Error| SplitError::of(&error, 0);
    let mut sqlite = memory::connect_in_memory().map_err(failed)?;
    let limited = sqlite.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
    limited.map_err(failed)?;
    let stopping = sqlite.progress_handler(INSTRUCTIONS_MAX, Some(|| true));
    stopping.map_err(failed)?;
    let mut statements = Statements::new(&sqlite, text);
    let mut found = Vec::new();
    while let Some((start, mut statement)) = statements.next()? {
        found.push((start, statement.expanded_sql().unwrap_or_default()));
        let mut rows = statement.raw_query();
        let mut step = || rows.next().map(|row| row.is_some());
        while step().map_err(|error| SplitError::of(&error, start))? {}
    }
    Ok(found)
}

/// The first byte from `at` that is neither space, comment nor `;`.
fn skip(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        at += match rest.as_bytes() {
            [b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' | b';', ..] => 1,
            // SQLite takes a byte order mark for a space.
            [0xef, 0xbb, 0xbf, ..] => 3,
            [b'-', b'-', ..] => rest.find('\n').unwrap_or(rest.len()),
            [b'/', b'*', ..] => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
            _ => return at,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Result<Vec<String>, SplitError> {
        let found = run_all(text)?;
        let sql = |(start, sql): (usize, String)| {
            assert!(text[start..].starts_with(&sql), "{start}: {sql}");
            sql
        };
        Ok(found.into_iter().map(sql).collect())
    }

    #[test]
    fn semicolons_end_statements_only_where_sqlite_says_so() {
        let trigger = "CREATE TRIGGER t AFTER INSERT ON a BEGIN\n  DELETE FROM a WHERE x = ';';\n  SELECT 1;\nEND;";
        let text = format!(
            "\n-- first; one\n;;CREATE TABLE a(x TEXT); /* ; */ INSERT INTO a VALUES ('; -- no; /*');\n{trigger}\
             SELECT \"x\", `x`, [x] FROM a -- end"
        );
        let found = split(&text).expect("valid");
        assert_eq!(
            found,
            [
                "CREATE TABLE a(x TEXT);",
                "INSERT INTO a VALUES ('; -- no; /*');",
                trigger,
                "SELECT \"x\", `x`, [x] FROM a -- end"
            ]
        );
        for nothing in ["", " ;\n; ", "-- only", "/* only", "/* a */ -- b\n"] {
            assert_eq!(split(nothing), Ok(Vec::new()), "{nothing:?}");
        }
    }

    #[test]
    fn long_texts_and_long_statements_are_read_whole() {
        let long = format!("SELECT '{}ä;';", "ä; ".repeat(WINDOW_BYTES));
        assert_eq!(
            split(&format!("{long}SELECT 2")).expect("valid"),
            [long.as_str(), "SELECT 2"]
        );
        let cut = format!("SELECT 1 {}+ 1", " ".repeat(WINDOW_BYTES));
        assert_eq!(split(&cut).expect("valid"), [cut.as_str()]);
        let many = "SELECT 1;\n".repeat(WINDOW_BYTES);
        assert_eq!(split(&many).expect("valid").len(), WINDOW_BYTES);
    }

    #[test]
    fn faults_have_a_place() {
        let text = "SELECT 1;\n\nCREATE TABEL a(x);";
        let fault = split(text).expect_err("a wrong word");
        assert_eq!((fault.start, fault.place), (11, Some(18)));
        assert!(
            fault.message.starts_with("near \"TABEL\""),
            "{}",
            fault.message
        );
        let fault = split("SELECT 1; SELECT ?").expect_err("a parameter");
        assert!(fault.start == 10 && fault.message.contains("parameter"));
        let fault = split("SELECT (1").expect_err("no end");
        assert_eq!(fault.message, "incomplete input");
    }

    #[test]
    fn statements_behind_a_nul_are_not_left_out_in_silence() {
        for (text, place) in [
            ("SELECT 1\0; SELECT 2;", Some(8)),
            ("SELECT 1; SELECT 2 \0", Some(19)),
            ("SELECT 1;\0 SELECT 2;", None),
            ("SELECT 1 -- ;\0\n; SELECT 2;", None),
        ] {
            let fault = split(text).expect_err("a NUL");
            assert_eq!(fault.place, place, "{text:?}: {}", fault.message);
        }
    }

    #[test]
    fn a_byte_order_mark_is_a_space() {
        assert_eq!(split("\u{feff}SELECT 1;"), Ok(vec!["SELECT 1;".to_owned()]));
        let fault = split("\u{feff}COMMIT").expect_err("the end of the transaction");
        assert!(
            fault.message.contains("cannot be used in a migration"),
            "{}",
            fault.message
        );
    }

    #[test]
    fn what_ends_the_transaction_is_refused() {
        for sql in [
            "begin",
            "COMMIT;",
            "End transaction",
            "ROLLBACK",
            "savepoint a",
            "RELEASE a",
            "ATTACH 'a' AS b",
            "DETACH b",
            "VACUUM",
            "VACUUM INTO 'x'",
        ] {
            let fault = split(&format!("SELECT 1; -- x\n{sql}")).expect_err(sql);
            assert_eq!(fault.start, 15);
            assert!(
                fault.message.contains("cannot be used in a migration"),
                "{}",
                fault.message
            );
        }
    }
}
