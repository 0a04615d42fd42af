//! Values into statements and out of them. Lists are the columns of one statement: PostgreSQL's `unnest` makes rows of
//! them.

use sampan_host::database::TableResult;
use sampan_host::{Cell, Error, ErrorKind, Value, clock};

/// The time of the server's clock, in milliseconds since 1970.
macro_rules! now_millis {
    () => {
        "(extract(epoch FROM statement_timestamp()) * 1000)::bigint"
    };
}
pub(super) use now_millis;

/// The time of the server's clock as it is read, in milliseconds since 1970: not the time at which the statement came.
macro_rules! now_clock_millis {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}
pub(super) use now_clock_millis;

/// The time of the server's clock, or the time that a test has set: see [`set_time`].
macro_rules! clock_millis {
    () => {
        concat!(
            "coalesce(?::bigint, ",
            crate::postgres::columns::now_millis!(),
            ")"
        )
    };
}
pub(super) use clock_millis;

/// The value of `unique_key` of a job `j` that ends, as on SQLite: the key behind the character 1, the number of the
/// job, and the character 1. An index entry has 2,704 bytes at most. No key that is made is as long; one that was added
/// by an earlier release may be, and is not kept.
macro_rules! ended_key {
    () => {
        "CASE WHEN left(j.unique_key, 1) = chr(1) THEN j.unique_key
          WHEN octet_length(j.unique_key) <= 2600 THEN chr(1) || j.id::text || chr(1) || j.unique_key END"
    };
}
pub(super) use ended_key;

/// Returns the time that counts in place of the server's clock, in milliseconds since 1970: nothing, unless a test has
/// set one.
pub(super) fn set_time() -> Value {
    let millis = clock::set_time().map(|time| time.as_millis());
    millis.map_or(Value::Null, |millis| {
        Value::Int(i64::try_from(millis).unwrap_or(i64::MAX))
    })
}

/// Returns a column of numbers.
pub(super) fn numbers(values: impl IntoIterator<Item = i64>) -> Value {
    Value::List(values.into_iter().map(Value::Int).collect())
}

/// Returns a column of texts.
pub(super) fn texts<'a>(values: impl IntoIterator<Item = &'a str>) -> Value {
    Value::List(values.into_iter().map(Value::from).collect())
}

/// Returns a column of texts or nothing.
pub(super) fn maybe_texts(values: impl IntoIterator<Item = Option<String>>) -> Value {
    let values = values.into_iter();
    Value::List(
        values
            .map(|text| text.map_or(Value::Null, Value::Text))
            .collect(),
    )
}

/// Returns a text that PostgreSQL keeps: without the character NUL.
pub(super) fn without_nul(text: String) -> String {
    match text.contains('\0') {
        true => text.replace('\0', "\u{fffd}"),
        false => text,
    }
}

/// Returns the first cell of a result as a number.
pub(super) fn number(result: &TableResult) -> Option<i64> {
    match result.rows.is_empty() {
        true => None,
        false => match result.rows.cell(0, 0) {
            Cell::Int(number) => Some(number),
            _ => None,
        },
    }
}

/// The error of a statement whose table is gone.
#[cold]
pub(super) fn no_tables() -> Error {
    let text = "the tables of jobs are missing (_sampan_jobs): a process that starts makes them";
    Error::new(ErrorKind::Internal, text)
}
