//! The status of a job, as scripts read it.

use super::{JobTable, int, maybe_int, maybe_text};
use crate::limits::DEPTH_MAX;
use sampan_host::{Cell, Error, Rows, Type, Value, json};

/// The statement that reads a job by its number, on SQLite and on a server.
pub(crate) const STATUS: &str =
    "SELECT state, name, queue, attempt, progress, progress_text, added, due, started, ended, errors
    FROM _sampan_jobs WHERE id = ?";

/// The result of `app.job_status`. Members of type `Any` are numbers or nothing.
pub(crate) const STATUS_TYPE: Type = Type::RecordOrNothing(&[
    ("state", Type::Text),
    ("name", Type::Text),
    ("queue", Type::Text),
    ("attempts", Type::Int),
    ("progress", Type::Any),
    ("progress_text", Type::TextOrNothing),
    ("added", Type::Number),
    ("due", Type::Number),
    ("started", Type::Any),
    ("ended", Type::Any),
    ("error", Type::TextOrNothing),
]);

const MEMBERS: [&str; 11] = [
    "state",
    "name",
    "queue",
    "attempts",
    "progress",
    "progress_text",
    "added",
    "due",
    "started",
    "ended",
    "error",
];

/// Returns the parameters of [`STATUS`].
pub(crate) fn status_params(id: i64) -> Value {
    Value::List(vec![Value::Int(id)])
}

/// Reads what [`STATUS`] gives: a record, or nothing where there is no such job.
pub(crate) fn status(rows: &Rows) -> Value {
    if rows.is_empty() {
        return Value::Null;
    }
    let cell = |column| rows.cell(0, column);
    let seconds = |column| maybe_int(cell(column)).map_or(Cell::Null, seconds);
    let error = maybe_text(cell(10)).and_then(|errors| last_error(&errors));
    let cells = [
        cell(0),
        cell(1),
        cell(2),
        Cell::Int(int(cell(3))),
        cell(4),
        cell(5),
        seconds(6),
        seconds(7),
        seconds(8),
        seconds(9),
        error.as_deref().map_or(Cell::Null, Cell::Text),
    ];
    Value::Row(Rows::of(&MEMBERS, &cells))
}

/// Converts milliseconds to seconds.
fn seconds(millis: i64) -> Cell<'static> {
    Cell::Float(millis as f64 / 1_000.0)
}

/// Returns the error of the last attempt that failed. `errors` is a list of objects with `attempt`, `at` and `error`,
/// as JSON.
fn last_error(errors: &str) -> Option<String> {
    let Ok(Value::List(mut failures)) = json::kept_value(errors, DEPTH_MAX) else {
        return None;
    };
    let last = failures.pop()?;
    match last.get("error") {
        Some(Value::Text(error)) => Some(error.clone()),
        _ => None,
    }
}

impl JobTable<'_> {
    /// Returns the status of a job; nothing where there is none.
    pub(crate) fn status(self, id: i64) -> Result<Value, Error> {
        let rows = self.0.read(STATUS, &status_params(id))?;
        Ok(rows.as_ref().map_or(Value::Null, status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns of [`STATUS`].
    const COLUMNS: [&str; 11] = [
        "state",
        "name",
        "queue",
        "attempt",
        "progress",
        "progress_text",
        "added",
        "due",
        "started",
        "ended",
        "errors",
    ];

    fn members(value: &Value) -> Vec<(String, Cell<'_>)> {
        let Value::Row(rows) = value else {
            panic!("no row: {value:?}");
        };
        let names = rows.columns().iter().enumerate();
        names
            .map(|(at, name)| (name.clone(), rows.cell(0, at)))
            .collect()
    }

    #[test]
    fn times_are_seconds_and_the_error_is_that_of_the_last_attempt() {
        let errors =
            r#"[{"attempt":1,"at":5,"error":"first"},{"attempt":2,"at":9,"error":"a \"second\""}]"#;
        let row = Rows::of(
            &COLUMNS,
            &[
                Cell::Text("scheduled"),
                Cell::Text("resize"),
                Cell::Text("default"),
                Cell::Int(2),
                Cell::Float(50.0),
                Cell::Text("half"),
                Cell::Int(1_000),
                Cell::Int(2_500),
                Cell::Int(1_250),
                Cell::Null,
                Cell::Text(errors),
            ],
        );
        let value = status(&row);
        let expected = [
            ("state", Cell::Text("scheduled")),
            ("name", Cell::Text("resize")),
            ("queue", Cell::Text("default")),
            ("attempts", Cell::Int(2)),
            ("progress", Cell::Float(50.0)),
            ("progress_text", Cell::Text("half")),
            ("added", Cell::Float(1.0)),
            ("due", Cell::Float(2.5)),
            ("started", Cell::Float(1.25)),
            ("ended", Cell::Null),
            ("error", Cell::Text("a \"second\"")),
        ];
        let expected = expected.map(|(name, cell)| (name.to_owned(), cell));
        assert_eq!(members(&value), expected);
    }

    #[test]
    fn the_record_has_the_members_of_its_type() {
        let Type::RecordOrNothing(declared) = STATUS_TYPE else {
            panic!("no record");
        };
        let names: Vec<&str> = declared.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, MEMBERS);
    }

    #[test]
    fn there_is_nothing_about_an_unknown_job_and_no_error_before_an_attempt_failed() {
        assert_eq!(status(&Rows::new(Vec::new().into())), Value::Null);
        assert_eq!(last_error("[]"), None);
        assert_eq!(last_error("{"), None);
    }
}
