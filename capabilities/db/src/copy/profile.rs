//! The values that columns hold, and the types of PostgreSQL that take them.

use super::source::{Column, Snapshot, Table, fault};
use jiff::civil::{Date, DateTime};
use rusqlite::types::ValueRef;
use sampan_host::Error;

/// The largest integer up to which a double has all of them.
const EXACT_MAX: u64 = 1 << 53;

/// A type of PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetType {
    Bigint,
    Double,
    Numeric,
    Text,
    Bytea,
    Boolean,
    Date,
    Timestamp,
    /// A type only of a table that is there already, as all below.
    Timestamptz,
    Json,
    Jsonb,
    /// Any other: it reads text.
    Other,
}

impl TargetType {
    /// The type in SQL.
    pub(super) fn sql(self) -> &'static str {
        match self {
            Self::Bigint => "bigint",
            Self::Double => "double precision",
            Self::Numeric => "numeric",
            // Texts are compared and sorted as SQLite does: by their bytes.
            Self::Text | Self::Other => "text COLLATE \"C\"",
            Self::Bytea => "bytea",
            Self::Boolean => "boolean",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
            Self::Timestamptz => "timestamptz",
            Self::Json => "json",
            Self::Jsonb => "jsonb",
        }
    }
}

/// The values of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Profile {
    pub(super) nulls: u64,
    pub(super) integers: u64,
    pub(super) reals: u64,
    pub(super) texts: u64,
    pub(super) blobs: u64,
    /// Values that are no 0 and no 1, and those that do not read back the same as a date or a timestamp.
    not_booleans: u64,
    not_dates: u64,
    not_timestamps: u64,
    /// Integers that a double does not have.
    inexact: u64,
}

impl Profile {
    fn add(&mut self, value: ValueRef<'_>) {
        match value {
            ValueRef::Null => {
                self.nulls += 1;
                return;
            }
            ValueRef::Integer(number) => {
                self.integers += 1;
                self.inexact += u64::from(number.unsigned_abs() > EXACT_MAX);
            }
            ValueRef::Real(_) => self.reals += 1,
            ValueRef::Text(_) => self.texts += 1,
            ValueRef::Blob(_) => self.blobs += 1,
        }
        let text = match value {
            ValueRef::Text(text) => text,
            _ => b"",
        };
        let is_boolean = matches!(value, ValueRef::Integer(0 | 1));
        self.not_booleans += u64::from(!is_boolean);
        self.not_dates += u64::from(!is_date(text));
        self.not_timestamps += u64::from(!is_timestamp(text));
    }

    /// The values in words: `3 texts and 1 BLOB`.
    fn shown(&self) -> String {
        let counts = [
            (self.integers, "integer"),
            (self.reals, "real number"),
            (self.texts, "text"),
            (self.blobs, "BLOB"),
        ];
        let shown: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}{}", if *count == 1 { "" } else { "s" }))
            .collect();
        shown.join(", ")
    }
}

/// Looks at all rows of a table, and returns the profile of each column that is to be copied.
///
/// # Errors
/// A text has a NUL or is not UTF-8, or the file cannot be read.
pub(super) fn profiles(snapshot: &Snapshot, table: &Table) -> Result<Vec<Profile>, Error> {
    let mut profiles = vec![Profile::default(); table.columns.len()];
    let failed = |error: rusqlite::Error| snapshot.explained(&error);
    let mut statement = snapshot.sqlite.prepare(&table.select()).map_err(failed)?;
    let mut rows = statement.raw_query();
    let mut number = 0;
    while let Some(row) = rows.next().map_err(failed)? {
        number += 1;
        for (at, profile) in profiles.iter_mut().enumerate() {
            let value = row.get_ref(at + 1).map_err(failed)?;
            if let ValueRef::Text(text) = value {
                text_of(text).map_err(|why| {
                    let row = shown_row(row.get_ref(0).ok(), number);
                    fault(format!(
                        "{}.{}, {row}: {why}",
                        table.name, table.columns[at].name
                    ))
                })?;
            }
            profile.add(value);
        }
    }
    Ok(profiles)
}

/// Returns the text that PostgreSQL can keep.
///
/// # Errors
/// The reason for which it cannot.
pub(super) fn text_of(bytes: &[u8]) -> Result<&str, &'static str> {
    if memchr::memchr(0, bytes).is_some() {
        return Err(
            "the text has the character NUL, which PostgreSQL does not keep: take it out, or make the value a BLOB",
        );
    }
    std::str::from_utf8(bytes)
        .map_err(|_| "the text is not UTF-8, which PostgreSQL does not keep: make the value a BLOB")
}

/// A row in words, by its rowid or else by its number in the table.
pub(super) fn shown_row(rowid: Option<ValueRef<'_>>, number: u64) -> String {
    match rowid {
        Some(ValueRef::Integer(rowid)) => format!("the row with the rowid {rowid}"),
        _ => format!("row {number}"),
    }
}

/// Chooses the type of a column by its declaration and its values.
///
/// # Errors
/// No type takes all values: the values in words.
pub(super) fn target_type(column: &Column, profile: &Profile) -> Result<TargetType, String> {
    let declared = &*column.declared;
    let has = |word: &str| declared.contains(word);
    let total = profile.integers + profile.reals + profile.texts + profile.blobs;
    if has("BOOL") && profile.not_booleans == 0 {
        return Ok(TargetType::Boolean);
    }
    if declared == "DATE" && profile.not_dates == 0 {
        return Ok(TargetType::Date);
    }
    if (has("DATETIME") || has("TIMESTAMP")) && profile.not_timestamps == 0 {
        return Ok(TargetType::Timestamp);
    }
    let (numbers, others) = (
        profile.integers + profile.reals,
        profile.texts + profile.blobs,
    );
    match () {
        () if total == 0 => Ok(declared_type(declared)),
        () if profile.blobs == total => Ok(TargetType::Bytea),
        () if profile.blobs > 0 => Err(profile.shown()),
        () if profile.texts > 0 => Ok(TargetType::Text),
        () if others == 0 && numbers == profile.integers && is_whole(declared) => {
            Ok(TargetType::Bigint)
        }
        () if profile.inexact == 0 => Ok(TargetType::Double),
        () => Ok(TargetType::Numeric),
    }
}

/// Reports whether integers in a column of this declaration mean that it has no others.
fn is_whole(declared: &str) -> bool {
    let is_real = ["REAL", "FLOA", "DOUB", "DEC", "NUM"];
    !is_real.iter().any(|word| declared.contains(word))
}

/// The type of a column without values, by the rules of SQLite's affinities
/// (<https://sqlite.org/datatype3.html#determination_of_column_affinity>).
fn declared_type(declared: &str) -> TargetType {
    let has = |word: &str| declared.contains(word);
    match () {
        () if has("INT") => TargetType::Bigint,
        () if has("CHAR") || has("CLOB") || has("TEXT") => TargetType::Text,
        () if has("BLOB") => TargetType::Bytea,
        () if !is_whole(declared) => TargetType::Double,
        () => TargetType::Text,
    }
}

/// Reports whether a text is a date that PostgreSQL gives back as it is.
pub(super) fn is_date(text: &[u8]) -> bool {
    let text = std::str::from_utf8(text).unwrap_or_default();
    let date = (text.len() == 10).then(|| text.parse::<Date>().ok());
    // There is no year 0.
    date.flatten()
        .is_some_and(|date| date.year() > 0 && date.to_string() == text)
}

/// Reports whether a text is a timestamp that comes back as it is: `YYYY-MM-DD HH:MM:SS`, with no fraction or one of
/// three or six digits, as `sampan_postgres` writes it.
fn is_timestamp(text: &[u8]) -> bool {
    let text = std::str::from_utf8(text).unwrap_or_default();
    let time = matches!(text.len(), 19 | 23 | 26).then(|| text.parse::<DateTime>().ok());
    time.flatten().is_some_and(|time| {
        let shown = match time.subsec_nanosecond() {
            0 => format!("{time:.0}"),
            nanos if nanos % 1_000_000 == 0 => format!("{time:.3}"),
            _ => format!("{time:.6}"),
        };
        time.year() > 0 && shown.replacen('T', " ", 1) == text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(declared: &str, values: &[ValueRef<'_>]) -> Result<TargetType, String> {
        let mut profile = Profile::default();
        values.iter().for_each(|value| profile.add(*value));
        let column = Column {
            declared: declared.to_owned(),
            ..Column::default()
        };
        target_type(&column, &profile)
    }

    #[test]
    fn types_follow_the_declaration_and_the_values() {
        use ValueRef::{Blob, Integer, Null, Real, Text};
        let large = Integer((1 << 53) + 1);
        for (declared, values, expected) in [
            ("INTEGER", &[][..], TargetType::Bigint),
            ("", &[Null], TargetType::Text),
            ("BLOB", &[], TargetType::Bytea),
            ("DECIMAL(10,2)", &[Integer(3)], TargetType::Double),
            (
                "DECIMAL(10,2)",
                &[Integer(3), Real(1.5)],
                TargetType::Double,
            ),
            ("NUMERIC", &[large, Real(1.5)], TargetType::Numeric),
            ("INTEGER", &[large], TargetType::Bigint),
            ("", &[Integer(3)], TargetType::Bigint),
            ("INTEGER", &[Integer(3), Real(1.5)], TargetType::Double),
            ("INTEGER", &[Integer(3), Text(b"x")], TargetType::Text),
            ("TEXT", &[Blob(b"x"), Null], TargetType::Bytea),
            (
                "BOOLEAN",
                &[Integer(0), Integer(1), Null],
                TargetType::Boolean,
            ),
            ("BOOLEAN", &[Integer(2)], TargetType::Bigint),
            ("BOOLEAN", &[], TargetType::Boolean),
            ("INTEGER", &[Integer(0), Integer(1)], TargetType::Bigint),
            ("DATE", &[Text(b"2024-02-29")], TargetType::Date),
            ("DATE", &[Text(b"0000-01-01")], TargetType::Text),
            ("DATE", &[Text(b"2023-02-29")], TargetType::Text),
            (
                "DATETIME",
                &[Text(b"2023-02-28 23:59:59")],
                TargetType::Timestamp,
            ),
            (
                "DATETIME",
                &[Text(b"2023-02-28 23:59:59.120")],
                TargetType::Timestamp,
            ),
            (
                "DATETIME",
                &[Text(b"2023-02-28 23:59:59.12")],
                TargetType::Text,
            ),
            (
                "DATETIME",
                &[Text(b"2023-02-28 23:59:59.120004")],
                TargetType::Timestamp,
            ),
            (
                "DATETIME",
                &[Text(b"2023-02-28 23:59:59.120000")],
                TargetType::Text,
            ),
            (
                "DATETIME",
                &[Text(b"2023-02-28 24:00:00")],
                TargetType::Text,
            ),
            (
                "DATETIME",
                &[Text(b"2023-02-28 23:59:60")],
                TargetType::Text,
            ),
            (
                "DATETIME",
                &[Text(b"0000-02-28 23:59:59")],
                TargetType::Text,
            ),
            ("DATE", &[Text(b"2024-W09-4")], TargetType::Text),
            (
                "TIMESTAMP",
                &[Text(b"2023-02-28T23:59:59Z")],
                TargetType::Text,
            ),
            ("TIMESTAMP", &[Integer(1_700_000_000)], TargetType::Bigint),
        ] {
            assert_eq!(
                chosen(declared, values),
                Ok(expected),
                "{declared} {values:?}"
            );
        }
        let mixed = chosen("", &[Text(b"x"), Text(b"y"), Blob(b"z")]);
        assert_eq!(mixed, Err("2 texts, 1 BLOB".to_owned()));
    }
}
